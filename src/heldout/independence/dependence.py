"""Which pictures of a set depend on each other, and none that stands on both sides of the comparison.

Five alike pictures are not five witnesses: with groups of five identical ones a test at 0.05 raised a false alarm in
0.40 of all audits. So the unit of every test is the group; here it is found what the groups are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from heldout.checkpoints import Checkpoint
from heldout.errors import InputError
from heldout.groups import FEW, Codes, group_codes, group_sizes, join_groups
from heldout.images import LabelledImages
from heldout.images.duplicates import NAMED, duplicate_codes, in_both, pixel_hashes
from heldout.images.oddities import Oddities
from heldout.orbit.square import IDENTITY

UNSEEN = ", as the model sees them, transparency left out"


@dataclass(frozen=True)
class Dependence:
    """How the audited pictures of one set hang together."""

    codes: Codes | None  # (n,) group of each; None where every picture is a group of its own
    n_duplicates: int  # pictures that repeat an earlier one of the set, pixel by pixel, or another view of it
    views: bool = False  # whether mirrored or turned pictures are among those
    oddities: Oddities = field(default_factory=Oddities, compare=False)  # of the files

    def sentence(self, n: int) -> str | None:
        """For the user; None where there is nothing to say."""
        if self.codes is None:
            return None
        sizes = group_sizes(self.codes)
        said = f"{n:,} pictures in {len(sizes):,} groups, the largest of {sizes.max():,}"
        if self.n_duplicates:
            said += f"; {self.n_duplicates:,} of them repeat{'s' * (self.n_duplicates == 1)} another one pixel by pixel"
            said += ", as it is or mirrored or turned" * self.views
            said += UNSEEN * bool(self.oddities.transparent)
        said += ". A group counts as one: whole groups are compared"
        if len(sizes) < FEW:
            said += f". {len(sizes)} groups are few: below about {FEW} little can be found, and intervals are rough"
        return said


def dependence(
    sets: dict[str, tuple[LabelledImages, NDArray[np.intp]]],
    *,
    progress: bool = False,
    checkpoints: Mapping[str, Checkpoint] | None = None,
    elements: Sequence[int] = (IDENTITY,),
) -> dict[str, Dependence]:
    """Groups of the audited rows of each set: the user's, joined with those of equal pictures.

    Parameters
    ----------
    sets : dict of (images, rows)
        "test", and "control" where there is one. A group, or a picture, that is in both is refused.
    progress : bool
        Show a bar on stderr; every audited picture is read once.
    checkpoints : mapping of Checkpoint, optional
        Where what was read of each set is kept.
    elements : sequence of int
        Views by which pictures are moved: those of one picture are taken for equal.
    """
    if "control" in sets:
        check_groups_apart(sets["test"][0].group_names or (), sets["control"][0].group_names or ())
    looked = {
        name: pixel_hashes(
            images.source,
            rows,
            label=f"{name} set",
            progress=progress,
            checkpoint=None if checkpoints is None else checkpoints[name],
            elements=elements,
        )
        for name, (images, rows) in sets.items()
    }
    if "control" in sets:
        unseen = any(oddities.transparent for _, oddities in looked.values())
        pairs = in_both(looked["test"][0], looked["control"][0])
        _check_pictures_apart(sets, pairs, views=len(elements) > 1, unseen=unseen)
    found = {}
    for name, (images, rows) in sets.items():
        hashes, oddities = looked[name]
        codes = duplicate_codes(hashes)
        n_duplicates = len(codes) - int(codes.max()) - 1
        if images.groups is not None:
            codes = join_groups(group_codes(np.asarray(images.group_names)[rows], len(rows)), codes)
        alone = codes.max() + 1 == len(codes)
        found[name] = Dependence(None if alone else codes, n_duplicates, len(elements) > 1, oddities)
    return found


def check_groups_apart(test: Iterable[str], control: Iterable[str]) -> None:
    """Refuse a group that is in both sets."""
    shared = sorted({name.strip() for name in test} & {name.strip() for name in control})
    if shared:
        raise InputError(
            f"{len(shared):,} group{'s' * (len(shared) > 1)} of `groups` ({_some([repr(g) for g in shared])}) "
            f"{'are' if len(shared) > 1 else 'is'} in both test set and control, so that the two depend on each other "
            "whatever the model did. Draw the control as whole groups (heldout split takes `groups`); if equal names "
            "mean different groups in the two sets, rename them."
        )


def _check_pictures_apart(
    sets: dict[str, tuple[LabelledImages, NDArray[np.intp]]],
    pairs: list[tuple[int, int]],
    *,
    views: bool,
    unseen: bool,
) -> None:
    if not pairs:
        return
    (test, rows), (control, control_rows) = sets["test"], sets["control"]
    names = [f"{test.ids[rows[i]]} is control {control.ids[control_rows[j]]}" for i, j in pairs]
    raise InputError(
        f"{len(pairs):,} of {len(control_rows):,} control pictures stand in the test set too, pixel by pixel"
        f"{', as they are or mirrored or turned' * views}{UNSEEN * unseen} (test {_some(names)}); a control must be "
        "other pictures of the same source. Take them out of the control"
        f"{'' if views else ', or draw test set and control with heldout split, which keeps equal pictures together'}."
    )


def _some(names: list[str]) -> str:
    return ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")
