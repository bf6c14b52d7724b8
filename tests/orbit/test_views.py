"""Flips, turns and their products with shifts, against pictures that are flipped, turned and rolled by numpy."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from heldout import Dihedral, HorizontalFlip, InputError, Translations
from heldout.codec import pack, same, unpack
from heldout.orbit import Product, square, statistic_range
from heldout.orbit.named import ORBITS, named_orbit
from heldout.orbit.table import Orbit

VIEWS = [HorizontalFlip(), Dihedral(), HorizontalFlip() * Translations(1), Dihedral() * Translations(1)]


def moved(picture: np.ndarray, version: Any) -> np.ndarray:
    """As the documentation has it: mirrored, turned to the left, then its content moved down and right, on a torus."""
    element, down, right = (int(v) for v in version)
    view = np.rot90(np.fliplr(picture) if element >= 4 else picture, element % 4)
    return np.roll(view, (down, right), axis=(0, 1))


def test_the_eight_elements_are_those_of_numpy():
    picture = np.arange(25).reshape(5, 5)
    dot = np.zeros((5, 5), dtype=int)
    dot[2 + 1, 2 - 2] = 1
    for g in range(8):
        view = moved(picture, (g, 0, 0))
        assert np.array_equal(square.acted(picture, g, axes=(0, 1)), view)
        assert np.array_equal(square.acted(picture[None, ..., None], g, axes=(1, 2))[0, ..., 0], view)
        assert np.array_equal(np.argwhere(moved(dot, (g, 0, 0)))[0] - 2, square.MATRICES[g] @ (1, -2))
        assert np.array_equal(moved(view, (square.INVERSE[g], 0, 0)), picture)
        for h in range(8):
            assert np.array_equal(moved(view, (h, 0, 0)), moved(picture, (square.PRODUCT[h, g], 0, 0)))


@pytest.mark.parametrize("orbit", VIEWS, ids=lambda orbit: orbit.name)
@pytest.mark.parametrize("rule", ["strongest", "random"])
def test_tables_lead_where_pictures_go(orbit, rule, rng):
    """On a torus so large that it is a plane, and on one so small that shifts come round."""
    for side, period in ((13, None), (5, (5, 5)), (3, (3, 3))):
        picture = rng.integers(0, 10**6, (side, side))
        table = orbit.table(rule, period=period)
        shown = [moved(picture, version) for version in table.versions]
        assert (table.n_moves, len({s.tobytes() for s in shown})) == (len(orbit), table.n_positions)
        assert np.array_equal(shown[table.centre], picture)
        for p in range(0, table.n_positions, max(1, table.n_positions // 16)):
            for k, move in enumerate(table.moves):
                if (there := table.reached[p, k]) >= 0:
                    assert np.array_equal(moved(shown[p], move), shown[there])
                if (there := table.left[p, k]) >= 0:
                    assert np.array_equal(moved(shown[there], move), shown[p])
        within = np.abs(table.versions[:, 1:]).max(axis=1) <= table.margin - orbit.radius
        assert (table.reached[within] >= 0).all()
        assert (table.left[within] >= 0).all()
        if table.symmetries is not None:
            for g, positions in zip(table.elements, table.symmetries, strict=True):
                other = moved(picture, (g, 0, 0))
                versions = [moved(other, version) for version in table.versions]
                assert np.array_equal(versions, [shown[p] for p in positions])


@pytest.mark.parametrize("orbit", [*VIEWS, Translations(2)], ids=lambda orbit: orbit.name)
def test_what_is_known_of_an_orbit(orbit):
    assert isinstance(orbit, Orbit)
    assert orbit.statistic_range("strongest") == statistic_range("strongest", len(orbit))
    assert named_orbit(orbit.name, orbit.radius or None) == orbit
    assert orbit.is_group == (orbit.radius == 0)
    assert len(orbit.elements) * (2 * orbit.radius + 1) ** 2 == len(orbit) + 1
    packed, arrays = pack(orbit)
    assert same(unpack(type(orbit), json.dumps(packed), arrays), orbit)
    assert orbit.margin("random") == 2 * orbit.radius


def test_sizes_by_hand():
    assert [len(orbit) + 1 for orbit in VIEWS] == [2, 8, 18, 72]
    assert HorizontalFlip().statistic_range("strongest") == (-0.5, 0.5)
    assert {named_orbit(name, 1 if "translations" in name else None).name for name in ORBITS} == set(ORBITS)
    assert named_orbit("flip+translations", 1) == named_orbit("translations+flip", 1)
    # the element first, then the shift row by row, without the move that does nothing
    moves = (HorizontalFlip() * Translations(1)).table("strongest").moves
    assert Translations(1) * Dihedral() == Dihedral() * Translations(1)
    assert moves[[0, 3, 4, 8]].tolist() == [[0, -1, -1], [0, 0, -1], [0, 0, 1], [4, -1, -1]]
    assert moves[[12, -1]].tolist() == [[4, 0, 0], [4, 1, 1]]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: Dihedral().margin("nearest"), r"'nearest' needs moves with a length.* 'dihedral' do not have"),
        (lambda: VIEWS[2].table("nearest"), r"'translations\+flip' do not have; use 'strongest'"),
        (lambda: Dihedral().check_shape((20, 30)), r"square pictures, but these are 20 x 30; .* `crop=20`.* 'flip'"),
        (lambda: VIEWS[3].table("strongest", period=(6, 7)), "square pictures, but these are 6 x 7"),
        (lambda: VIEWS[2].table("strongest", period=(2, 7)), "largest radius that fits is 0"),
        (lambda: Product(Dihedral(), 2), r"`translations` of Product is 2; it must be heldout\.Translations"),
        (lambda: named_orbit("turns"), "`orbit` is 'turns'; choose one of translations, flip"),
        (lambda: named_orbit("flip", 2), "`radius` is 2, but nothing is shifted in the orbit 'flip'"),
        (
            lambda: named_orbit("translations+flip"),
            r"needs a radius, .* give heldout.HorizontalFlip\(\) \* heldout.Trans",
        ),
    ],
)
def test_bad_input(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()


def test_flips_need_no_square():
    HorizontalFlip().check_shape((20, 30))
    assert VIEWS[2].table("strongest", period=(4, 7)).n_positions == 2 * 28
    with pytest.raises(TypeError, match="unsupported operand"):
        HorizontalFlip() * 2


def test_which_elements_leave_a_picture_as_it_is(rng):
    """All ten subgroups of the square's, made by laying views of a picture over each other."""
    found = set()
    for subset in range(1, 256):
        kept = {g for g in range(8) if subset >> g & 1} | {0}
        picture = rng.integers(0, 10, (5, 5, 2))
        if {square.PRODUCT[a, b] for a in kept for b in kept} != kept:
            continue
        views = [square.acted(picture, g, axes=(0, 1)) for g in kept]
        told = square.stabilisers(np.stack([sum(views), picture]), range(8))
        assert set(np.flatnonzero(told[0]).tolist()) == kept
        assert told[1].tolist() == [True] + [False] * 7
        found.add(frozenset(kept))
    assert len(found) == 10
