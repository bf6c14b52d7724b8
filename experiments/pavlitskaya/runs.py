"""The trainings that are kept in results/: those of one network that go together, and the bits of their curves."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from trained import Trained, alike, newest_first, read

FAMILIES = {"vgg": "VGG", "resnet": "ResNet"}
OTHERS = ("lenet-mnist", "lenet-cifar", "mobilenet-mnist", "mobilenet-cifar")
NAMES = [f"{family}-C{i}" for family in FAMILIES for i in range(1, 9)] + list(OTHERS)


@dataclass(frozen=True, eq=False)
class Noise:
    """Trainings of one network at rates of label noise: axes are (rates, seeds, images)."""

    trained: list[Trained]
    others: list[Trained]  # with another learning rate or number of epochs, or an earlier training of a seed
    rates: np.ndarray
    on_given: np.ndarray  # right on the labels trained on
    on_true: np.ndarray
    wrong: np.ndarray

    @classmethod
    def of(cls, several: list[Trained]) -> Noise:
        """Those that go together."""
        trained = alike(several)
        return cls.together(trained, [t for t in several if t not in trained])

    @classmethod
    def together(
        cls, trained: list[Trained], others: Sequence[Trained] = (), among: Collection[float] | None = None
    ) -> Noise:
        """All of these, or one by itself, at all rates that they share or at those of them that are `among` some."""
        rates = sorted(set.intersection(*(set(t.rates) for t in trained)))  # so that no seed is dropped
        if among is not None:
            rates = [r for r in rates if r in among]
        axes = [[(t[f"rate{r:.1f}/train"], t[f"rate{r:.1f}/targets"], t["rate0.0/targets"]) for t in trained]
                for r in rates]  # fmt: skip
        said, given, truth = np.array(axes).transpose(2, 0, 1, 3)
        return cls(trained, list(others), np.array(rates), said == given, said == truth, given != truth)

    @property
    def learned(self) -> np.ndarray:
        """(rates - 1,) share of the wrong labels that the networks say, from the first rate above 0 on."""
        return np.array(
            [right[wrong].mean() for right, wrong in zip(self.on_given, self.wrong, strict=True) if wrong.any()]
        )

    @property
    def wrong_alone(self) -> np.ndarray:
        """(rates,) accuracy on the true labels, were all that were trained with their true label right.

        Its slope counts wrong labels learned, or answers gone wrong beside them, and no true label lost.
        """
        return (self.on_true | ~self.wrong).mean(axis=(1, 2))

    @property
    def given(self) -> np.ndarray:
        """(rates,) accuracy on the labels trained on."""
        return self.on_given.mean(axis=(1, 2))


class Runs:
    """Everything that was trained: files sorted by name, later ones before earlier ones."""

    def __init__(self, folder: Path) -> None:
        self.remade: dict[str, np.ndarray] = {}  # curves from kept weights (fgsm.py, corruptions.py)
        for path in (folder / "fgsm.npz", folder / "corruptions.npz"):
            if path.exists():
                with np.load(path) as f:
                    self.remade |= {key: f[key] for key in f.files}
        self.trained = [t for path in newest_first(folder.glob("pool-*.npz")) for t in read(path)]

    def of(self, name: str) -> list[Trained]:
        return [t for t in self.trained if t.name == name]

    def noise(self, name: str) -> Noise | None:
        """The trainings with several rates."""
        several = [t for t in self.of(name) if len(t.rates) > 2]
        return Noise.of(several) if several else None

    def plain(self, name: str) -> list[Trained]:
        """Without noise: those whose curves there are, or else all."""
        own = self.of(name)
        return alike([t for t in own if t.get("curves/spatial") is not None] or own)

    def curves(self, name: str, kind: str) -> list[np.ndarray]:
        """The bits of one curve, for each seed there is.

        Of FGSM those by the margin's gradient, which is not rounded to 0, where there are any (fgsm.py).
        """
        trained = self.plain(name)
        found = [t.get(f"curves/{kind}") for t in trained]
        if kind == "fgsm":
            by_margin = [bits if t.record.get("fgsm") == "margin" else self.again(t, kind)
                         for t, bits in zip(trained, found, strict=True)]  # fmt: skip
            if any(bits is not None for bits in by_margin):
                found = by_margin
        return [bits for bits in found if bits is not None]

    def by_margin(self, name: str) -> bool:
        """Whether its FGSM curves are those by the margin's gradient."""
        return any(t.record.get("fgsm") == "margin" or self.again(t, "fgsm") is not None for t in self.plain(name))

    def attacked(self, name: str) -> tuple[int, int]:
        """How many of its seeds the FGSM curves have, and how many others have."""
        return len(self.curves(name, "fgsm")), len(self.curves(name, "spatial"))

    def again(self, t: Trained, kind: str) -> np.ndarray | None:
        """The bits of a curve that was made from its weights later on."""
        return self.remade.get(f"{t.file}/{t.name}/seed{t.seed}/curves/{kind}")
