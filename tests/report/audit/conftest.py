"""Real audits of tiny models: what a report must cope with, from a leak to nothing at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from heldout.images import LabelledImages, Wrap, from_arrays
from heldout.independence.audit import audit, audit_many
from heldout.independence.result import AuditResult
from heldout.orbit import Translations

HOSTILE = "<script>alert('&amp;')</script>"
Pictures = NDArray[Any]


def pictures(n: int, seed: int, *, framed: bool = True) -> tuple[Pictures, NDArray[np.int64]]:
    """Noise; if framed, with a subject at a fixed place, so that shifts are not neutral."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    images = rng.integers(0, 256, (n, 8, 8), dtype=np.uint8)
    if framed:
        images[labels == 1, 2:6, 4:] //= 3
    return images, labels


def images_of(n: int, seed: int, *, framed: bool = True) -> LabelledImages:
    source = from_arrays(*pictures(n, seed, framed=framed))
    source.class_names = [HOSTILE, "dark & right"]
    return LabelledImages(source, Wrap())


def halves(bias: float = 0.0) -> Any:
    """Compares the two halves of a picture: honest, since it was never trained."""

    def logits(batch: Pictures) -> Pictures:
        left, right = batch[..., :4].sum((1, 2, 3)), batch[..., 4:].sum((1, 2, 3))
        return np.stack([right + bias, left], axis=1)

    return logits


def memory(known: Pictures, labels: NDArray[np.int64]) -> Any:
    """Knows the given pictures by heart, and else compares halves: a leak."""
    table = {p.astype(np.float32).tobytes(): int(y) for p, y in zip(known, labels, strict=True)}
    fallback = halves()

    def logits(batch: Pictures) -> Pictures:
        out = fallback(batch)
        for row, picture in zip(out, batch, strict=True):
            label = table.get(np.round(picture.squeeze() * 255).astype(np.float32).tobytes())
            if label is not None:
                row[:] = np.eye(2)[label] * 100
        return out

    return logits


def uneven(seed: int) -> Any:
    """Compares the halves as well, but does not see all pixels alike: a reference."""
    weights = 1.0 + 0.5 * np.random.default_rng(seed).normal(size=(8, 8))

    def logits(batch: Pictures) -> Pictures:
        return np.asarray(halves()(batch * weights))

    return logits


@pytest.fixture(scope="session")
def plain() -> AuditResult:
    """No control, honest, and nothing that shifts could spoil."""
    return audit(halves(), images_of(150, 0, framed=False), orbit=Translations(1), allow_chance=True)


@pytest.fixture(scope="session")
def leaked() -> AuditResult:
    """With a control, and the test set known by heart."""
    model = memory(*pictures(150, 0))
    return audit(
        model, images_of(150, 0), orbit=Translations(1), control=images_of(120, 1), n_resamples=999, allow_chance=True
    )  # fmt: skip


@pytest.fixture(scope="session")
def leaked_alone() -> AuditResult:
    """The same leak without a control."""
    return audit(memory(*pictures(150, 0)), images_of(150, 0), orbit=Translations(1), allow_chance=True)


@pytest.fixture(scope="session")
def honest() -> AuditResult:
    """With a control, honest, one-sided."""
    return audit(
        halves(), images_of(150, 0), orbit=Translations(1), control=images_of(120, 1), alternative="greater",
        n_resamples=999, allow_chance=True,
    )  # fmt: skip


@pytest.fixture(scope="session")
def many() -> AuditResult:
    """Eight honest models that shifts do hurt: rejected, and only a control could tell why."""
    models = [halves(bias) for bias in np.linspace(-1, 1, 8)]
    return audit_many(models, images_of(100, 0), orbit=Translations(1), allow_chance=True)


@pytest.fixture(scope="session")
def random_rule() -> AuditResult:
    """A rule that chooses no move."""
    return audit(halves(), images_of(60, 0), orbit=Translations(1), rule="random", tolerance=0.01, allow_chance=True)


def _all_right(batch: Pictures) -> Pictures:
    mean = batch.mean((1, 2, 3))
    return np.stack([mean - 0.5, 0.5 - mean], axis=1)


def _easy(n: int, seed: int) -> LabelledImages:
    labels = np.arange(n) % 2
    noise = np.random.default_rng(seed).integers(0, 40, (n, 8, 8))
    return LabelledImages(from_arrays((np.where(labels == 0, 200, 30)[:, None, None] + noise).astype(np.uint8), labels),
                          Wrap())  # fmt: skip


@pytest.fixture(scope="session")
def perfect() -> AuditResult:
    """Always right: every T is zero, the detectable effect is not defined."""
    return audit(_all_right, _easy(40, 0), orbit=Translations(1))


@pytest.fixture(scope="session")
def perfect_control() -> AuditResult:
    """The same with a control: no spread at all."""
    return audit(_all_right, _easy(40, 0), orbit=Translations(1), control=_easy(30, 1), n_resamples=99)


@pytest.fixture(scope="session")
def hostile(plain: AuditResult) -> AuditResult:
    """Names that want to break out of the page."""
    exhibits = tuple(replace(x, id=f'"><img src=x onerror=alert(1)>{HOSTILE}\udcff') for x in plain.exhibits)
    return replace(plain, exhibits=exhibits, model_names=(HOSTILE,), preprocessing={"frame": HOSTILE})


@pytest.fixture(scope="session")
def seen() -> AuditResult:
    """The test set known by heart, against two references."""
    return audit(
        memory(*pictures(150, 0)), images_of(150, 0), orbit=Translations(1), control=images_of(120, 1),
        references=[uneven(0), uneven(1)], n_resamples=999, allow_chance=True,
    )  # fmt: skip


@pytest.fixture(scope="session")
def unseen() -> AuditResult:
    """Honest, against one reference: nothing to list."""
    return audit(
        halves(), images_of(150, 0), orbit=Translations(1), control=images_of(120, 1), references=[uneven(0)],
        n_resamples=999, allow_chance=True,
    )  # fmt: skip


NAMES = (
    "plain", "leaked", "leaked_alone", "honest", "many", "random_rule", "perfect", "perfect_control", "hostile", "seen",
    "unseen",
)  # fmt: skip


@pytest.fixture(params=NAMES)
def result(request: pytest.FixtureRequest) -> AuditResult:
    """Each of them in turn."""
    found: AuditResult = request.getfixturevalue(request.param)
    return found
