"""The networks of two stores that are audited, and who is whose reference."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.werpachowski.cifar10 import store

HERE = Path(__file__).resolve().parent
STUDY = HERE.parent / "werpachowski" / "cifar10"
STORES = (STUDY / "results", HERE / "results")  # PULL, SHARE and the bins were chosen on the first
PARTS = ("test", "control")
N_REFERENCES = 3
TRIED_OUT = 8  # a family with fewer honest networks was only tried out
MOST_HONEST = 64  # of a family are audited, the first; the others are references only
POOL = 170  # honest networks of a family are drawn from as references, the first: those that come later change no draw
LATER = ("vgg-shift-e104",)  # of the first store too, but its leaked networks were trained after the choice


@dataclass(frozen=True, kw_only=True)
class Network:
    """What is kept of a network, test set and control."""

    key: str  # <family>-leak<count>/seed<n>
    first: bool  # of the store on which the constants of the tail statistic were chosen
    T: tuple[np.ndarray, np.ndarray]
    right: tuple[np.ndarray, np.ndarray]
    margins: tuple[np.ndarray, np.ndarray]
    leaked: np.ndarray

    @property
    def family(self) -> str:
        return re.sub(r"-leak\d+/seed\d+$", "", self.key)

    @property
    def leak(self) -> int:
        return len(self.leaked)

    @property
    def seed(self) -> int:
        return int(self.key.rsplit("/seed", 1)[1])

    @property
    def moves(self) -> str:
        """In training: shift, fixed, pad4."""
        return self.family.split("-")[1]


class Networks:
    """All networks of the stores, and who is whose reference."""

    def __init__(self, folders: tuple[Path, ...] = STORES, only: set[str] | None = None) -> None:
        self.all: dict[str, Network] = {}
        self.labels: dict[str, np.ndarray] = {}
        for i, folder in enumerate(folders):
            split = store.split(folder)
            labels = {f"classes_{p}": split[f"{p}_labels"] for p in PARTS} if split else {}
            if self.labels and labels and any(not np.array_equal(self.labels[k], labels[k]) for k in labels):
                raise SystemExit(f"{folder} has other pictures than {folders[0]}.")
            self.labels = self.labels or labels
            for model in store.models(folder):
                if only is None or model.key in only:
                    self.all.setdefault(model.key, self.read(model, i == 0))

    def read(self, model: store.Model, first: bool) -> Network:
        answers = [model[f"{p}_predictions"] == self.labels[f"classes_{p}"] for p in PARTS]
        return Network(
            key=model.key,
            first=first,
            T=tuple(store.statistics(model[f"{p}_codes"]) for p in PARTS),
            right=tuple(answers),
            margins=tuple(model[f"{p}_margins"] for p in PARTS),
            leaked=model["leaked"].astype(np.int64),
        )

    def families(self) -> list[str]:
        """Those that are audited; of the first store first."""
        found = {n.family: not n.first for n in self.all.values() if n.leak}
        return sorted(found, key=lambda f: (found[f], self.tried_out(f), "fixed" in f, f))

    def of(self, family: str, leak: int | None = None) -> list[Network]:
        found = [n for n in self.all.values() if n.family == family and leak in (None, n.leak)]
        return sorted(found, key=lambda n: (n.leak, n.seed))

    def audited(self, family: str) -> list[Network]:
        """All with a leak, and as many honest ones as are enough."""
        return self.of(family, 0)[:MOST_HONEST] + [n for n in self.of(family) if n.leak]

    def tried_out(self, family: str) -> bool:
        return len(self.of(family, 0)) < TRIED_OUT

    def chosen_on(self, family: str) -> bool:
        """Whether the constants of the tail statistic were chosen on these networks."""
        return self.of(family)[0].first and family not in LATER

    def references(self, network: Network, count: int = N_REFERENCES, draw: int | None = None) -> list[Network]:
        """Honest networks of the same family, drawn anew for every network audited, itself left out."""
        others = [n for n in self.of(network.family, 0)[:POOL] if n.key != network.key]
        if len(others) < count:
            return []
        seed = [network.seed, network.leak] if draw is None else [3, network.seed, network.leak, draw]
        drawn = np.random.default_rng(seed).permutation(len(others))[:count]
        return [others[i] for i in drawn]

    def strangers(self, network: Network) -> list[Network]:
        """Honest networks of another architecture, trained with the same moves or, if there are none, with shifts."""
        if network.family.startswith("residual"):
            return []
        other = [n for n in self.all.values() if n.family.startswith("residual") and not n.leak]
        found = [n for n in other if n.moves == network.moves] or [n for n in other if n.moves == "shift"]
        return sorted(found, key=lambda n: n.seed)[:N_REFERENCES]
