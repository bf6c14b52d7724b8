"""Whether the accuracies of the look before the audit can be: as expected, better than chance, the same in the frame.

Wrong preprocessing is the commonest failure, and it would give a confident wrong p-value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from heldout.errors import InputError
from heldout.independence.preflight import Preflight
from heldout.statistics.binomial import sign_test_log_pvalue, upper_tail

CHANCE_LEVEL = 0.001  # p-value from which an accuracy is taken for chance, and a test set for worse than its control
DROP, DROP_LEVEL = 0.02, 0.001  # accuracy that a frame may cost, and the p-value from which it is taken for chance
CAUSES = (
    "Likely causes: mean and std (`mean`, `std`, `scale`), channel order (`bgr`), crop or resize, "
    "or labels numbered in another order."
)


def check_looks(
    looks: dict[str, Preflight],
    *,
    expect_accuracy: float | str | None = None,
    allow_chance: bool = False,
    allow_frame_drop: bool = False,
    shifted: bool = True,
) -> None:
    """Stop where a model is not what its owner thinks, or the frame shows it what it was not made for.

    Test set and control are looked at together. A model that knows its test set by heart may be at chance on the
    control, which is the finding; and stopping on the test set alone would select: of 2,500 audits of a weak, honest
    model 2,350 were stopped, and 13 % of the rest raised a false alarm at level 0.05. So one at chance on the test set
    alone is stopped only where it is far better on the control, which happens to an honest one in a thousand at most.

    Parameters
    ----------
    looks : dict of Preflight
        Of one model: "test", and "control" where there is one.
    expect_accuracy : float or str, optional
        Accuracy on the untouched pictures of the whole test set. A model that is better in an enlarging frame was
        made for that: then the frame's counts.
    shifted : bool
        Whether pictures are shifted, for which they need a frame.
    """
    if expect_accuracy is not None:
        _check_expected(looks["test"], expect_accuracy)
    elif not allow_chance:
        _check_better_than_chance(looks)
    if not allow_frame_drop:
        _check_frame_drop(looks, shifted=shifted)


def _check_expected(look: Preflight, expected: float | str) -> None:
    digits = len(str(expected).partition(".")[2])  # as typed: 0.90 asks for more than 0.9
    accuracy = max(look.untouched_accuracy, look.accuracy)
    if abs(accuracy - float(expected)) > 0.5 * 10**-digits + 1e-12:
        frame = f" ({look.accuracy:.4f} in the frame)" if look.originals is not None else ""
        raise InputError(
            f"the untouched accuracy is {look.untouched_accuracy:.4f}{frame}, but {expected} was expected. {CAUSES} "
            "Nothing was audited."
        )


def _check_better_than_chance(looks: dict[str, Preflight]) -> None:
    if weak := near_chance(list(looks.values())):
        raise InputError(
            f"the untouched accuracy is {weak}. {CAUSES} If the model really is that weak, go on with "
            "`allow_chance=True`."
        )
    test, control = looks.get("test"), looks.get("control")
    if test and control and (weak := near_chance([test])) and _is_worse(test, control):
        raise InputError(
            f"the untouched accuracy is {weak} of the test set, but {100 * control.untouched_accuracy:.1f} % "
            "on the control. Likely causes: pictures of the test set that are decoded, scaled, cropped or turned in "
            "another way, or labels numbered in another order. If the model really is that weak on the test set, go on "
            "with `allow_chance=True`."
        )


def _is_worse(test: Preflight, control: Preflight) -> bool:
    """Whether a model does worse on the test set than on the control, by more than chance (Fisher's exact test)."""
    from scipy.stats import hypergeom  # takes longer to load than everything else here

    right, n = _clearly_right([test]), len(test.labels)
    both, total = right + _clearly_right([control]), n + len(control.labels)
    return float(hypergeom.cdf(right, total, both, n)) <= CHANCE_LEVEL


def at_chance(looks: Sequence[dict[str, Preflight]]) -> tuple[str, ...]:
    """Sets on which any of the models, each with its looks, is not reliably better than chance."""
    return tuple(name for name in looks[0] if any(near_chance([of[name]]) is not None for of in looks))


def near_chance(looks: list[Preflight]) -> str | None:
    """A model's accuracy on untouched pictures of all sets, where it is not reliably better than chance; else None."""
    labels = np.concatenate([look.labels for look in looks])
    commonest = float(np.bincount(labels).max() / len(labels))
    chance = commonest if commonest < 1.0 else 1.0 / looks[0].n_classes
    clearly_right = _clearly_right(looks)
    near = upper_tail(clearly_right, len(labels), chance) > CHANCE_LEVEL
    if not near or len(labels) < 20:
        return None
    of = "pictures of test set and control" if len(looks) > 1 else "pictures"
    return (
        f"{100 * clearly_right / len(labels):.1f} % on {len(labels):,} {of} (ties not counted), not reliably better "
        f"than always naming the commonest class ({100 * chance:.1f} %)"
    )


def _clearly_right(looks: list[Preflight]) -> int:
    """A tied top logit counts as right, so a model that answers the same everywhere would look perfect."""
    return max(
        sum(int(look.untouched_clearly_right.sum()) for look in looks),
        sum(int(look.clearly_right.sum()) for look in looks),  # where the model was made for enlarged pictures
    )


def _check_frame_drop(looks: dict[str, Preflight], *, shifted: bool) -> None:
    broken = sum(int((look.untouched_right & ~look.right).sum()) for look in looks.values())
    mended = sum(int((~look.untouched_right & look.right).sum()) for look in looks.values())
    n = sum(len(look.right) for look in looks.values())
    p = math.exp(sign_test_log_pvalue(broken, mended))
    if p >= DROP_LEVEL or broken - mended <= DROP * n:
        return
    each = ", ".join(
        f"{name} {100 * look.untouched_accuracy:.1f} and {100 * look.accuracy:.1f} %" for name, look in looks.items()
    )
    whole = [
        100 * sum(int(getattr(look, w).sum()) for look in looks.values()) / n for w in ("untouched_right", "right")
    ]
    way_out = "Nothing is shifted with this orbit, so that pictures need no room: leave `upsample` out"
    if shifted:
        way_out = (
            "For models of small pictures use `pad='reflect'` (with `control`), which leaves the untouched picture in "
            "the middle"
        )
    raise InputError(
        f"the model is right on {whole[0]:.1f} % of the untouched pictures, but on {whole[1]:.1f} % in the frame "
        f"({each}; {n:,} pictures, McNemar's exact p = {p:.2g}): the frame shows it something it was not made for, and "
        "what it knows by heart would go unseen. Likely causes: `upsample` zooms, and the model was trained on "
        f"pictures of their own size, or on another enlargement. {way_out}; `allow_frame_drop=True` goes on with this "
        "frame."
    )
