"""Scores of whole maps, or of all views of a group, in; T out: every score is there, nothing is asked for."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError
from heldout.orbit import Dihedral, HorizontalFlip, OptionOrders, Rule, Translations
from heldout.orbit.rules import check_rule
from heldout.orbit.table import MoveTable

Floats = NDArray[np.float64]


def score_map_statistics(scores: ArrayLike, *, radius: int, rule: Rule = "strongest", wrap: bool = False) -> Floats:
    r"""T = L(g(x)) h(g(x)) - L(x) (eq. 5 of v1) from maps of excess scores.

    Parameters
    ----------
    scores : (n, H, W)
        `scores[i, c + v]` is the excess score max_l logit_l - logit_y of picture i with its content
        moved by v = (down, right), the picture itself at the centre c = (H // 2, W // 2). A point is
        wrong where its score is above 0; a tied top logit is right.
    radius : int
        Moves go up to this many pixels down and right.
    rule : {"strongest", "nearest", "random", "random2"}
        How a right point is moved, as in `audit`. The random rules give the expectation of T.
    wrap : bool
        The map is a torus and every position of it a data point.

    Returns
    -------
    (n,) or, with `wrap`, (n, H, W)
        On a torus each map's T sums to 0.

    Examples
    --------
    Figure 3 of the paper: of four right points in a row the two nearest can reach the first wrong
    one, so three points end there and its weight is 1/3. (Points above and below are wrong: they stay.)

    >>> import numpy as np
    >>> from heldout import score_map_statistics
    >>> field = np.ones((1, 13, 13))
    >>> field[0, 6, 2:6] = 0.0  # right
    >>> field[0, 6, 6] = 2.0  # the centre: wrong, and the worst of all
    >>> T = score_map_statistics(field, radius=2, rule="strongest")
    >>> weight = T + 1  # T = h - 1 where x itself is wrong
    >>> weight.round(6).tolist()
    [0.333333]
    """
    orbit = Translations(radius)
    check_rule(rule)
    s = np.asarray(scores, dtype=np.float64)
    if s.ndim != 3 or s.shape[0] == 0:
        raise InputError(f"`scores` has shape {s.shape}; it must be (n, H, W), at least one map.")
    if not np.isfinite(s).all():
        raise InputError(f"`scores` holds {int((~np.isfinite(s)).sum())} values that are not finite.")
    if wrap:
        if min(s.shape[1:]) < 2 * radius + 1:
            raise InputError(
                f"a torus of {s.shape[1]} x {s.shape[2]} is too small for radius {radius}: the same point "
                f"would be reached by two moves; the largest radius that fits is {(min(s.shape[1:]) - 1) // 2}."
            )
        return _torus_statistics(s, orbit, rule)
    margin = orbit.margin(rule)
    centre = np.array(s.shape[1:]) // 2
    room = int(min(*centre, *(np.array(s.shape[1:]) - 1 - centre)))
    if room < margin:
        raise InputError(
            f"radius {radius} with rule {rule!r} needs {margin} scores on each side of the centre, but maps of "
            f"{s.shape[1]} x {s.shape[2]} have {room}; the largest radius that fits is {room * radius // margin}."
        )
    (top, left) = centre - margin
    cut = s[:, top : top + 2 * margin + 1, left : left + 2 * margin + 1]
    # What wraps around the edge of the cut never reaches its centre: that is what the margin is for.
    return _torus_statistics(cut, orbit, rule)[:, margin, margin]


def _at(field: NDArray[np.generic], move: NDArray[np.intp]) -> NDArray[np.generic]:
    """The field as seen from each position p: its value at p + move, on a torus."""
    return np.roll(field, (-move[0], -move[1]), axis=(1, 2))


def _torus_statistics(s: Floats, orbit: Translations, rule: Rule) -> Floats:
    wrong = s > 0.0
    if rule in ("random", "random2"):
        return _random_statistics(wrong, orbit, rule)
    chosen = _chosen_move(s, wrong, orbit, rule)
    incoming = np.zeros(s.shape, dtype=np.int64)  # n(x') of eq. 9, by position of x'
    moves = orbit.moves
    for k, move in enumerate(moves):
        incoming += _at(chosen == k, -move).astype(np.int64)
    weight = 1.0 / (1.0 + incoming)  # (9)
    result = np.where(wrong, weight - 1.0, 0.0)
    for k, move in enumerate(moves):
        result = np.where(chosen == k, _at(weight, move), result)
    return result


def _chosen_move(s: Floats, wrong: NDArray[np.bool_], orbit: Translations, rule: Rule) -> NDArray[np.intp]:
    """Number of the move that g takes from each position; -1 where it stays."""
    moves = orbit.moves
    lengths = (moves**2).sum(axis=1)
    chosen = np.full(s.shape, -1, dtype=np.intp)
    best = np.zeros_like(s) if rule == "strongest" else np.full(s.shape, np.inf)
    for k, move in enumerate(moves):
        there = np.asarray(_at(s, move), dtype=np.float64)
        if rule == "strongest":
            better = there > best  # the first of equals stays
            best = np.where(better, there, best)
        else:
            better = (there > 0.0) & (lengths[k] < best)
            best = np.where(better, lengths[k], best)
        chosen = np.where(better & ~wrong, k, chosen)
    return chosen


def _random_statistics(wrong: NDArray[np.bool_], orbit: Translations, rule: Rule) -> Floats:
    """E T over the choice of g (eq. 10): n(x') is the number R of right points around, over M or M + 1."""
    choices = len(orbit) + (rule == "random2")
    right_around = np.zeros(wrong.shape, dtype=np.int64)
    for move in orbit.moves:
        right_around += _at(~wrong, move).astype(np.int64)
    weight = 1.0 / (1.0 + right_around / choices)  # (10)
    weighted = np.where(wrong, weight, 0.0)
    moved = sum(np.asarray(_at(weighted, move), dtype=np.float64) for move in orbit.moves)
    return np.where(wrong, weight - 1.0, moved / choices)


def orbit_statistics(
    scores: ArrayLike,
    orbit: HorizontalFlip | Dihedral | OptionOrders,
    *,
    rule: Rule = "strongest",
    unchanged: ArrayLike | None = None,
) -> Floats:
    r"""T = L(g(x)) h(g(x)) - L(x) of every view of a picture, or order of options, from the excess scores of all.

    Parameters
    ----------
    scores : (n, n_views)
        `scores[i, k]` is the excess score max_l logit_l - logit_y of picture i after the group's k-th element, the
        picture as it is first; of a question in the group's k-th order. A view is wrong where its score is above 0; a
        tied top logit is right.
    orbit : HorizontalFlip, Dihedral or OptionOrders
        The group: all orders of options, or their cyclic shifts.
    rule : {"strongest", "nearest", "random", "random2"}
        How a right view is moved, as in `audit`; only orders of options have a nearest. The random rules give the
        expectation of T.
    unchanged : (n, n_views) bool, optional
        Which elements leave each picture as it is: its views that are the same count as one. Default: the first only.

    Returns
    -------
    (n, n_views)
        Each picture's T sum to 0.

    Examples
    --------
    Of a picture and its mirror image one is wrong; the other is moved onto it, which has the weight 1/2 then.

    >>> from heldout import HorizontalFlip, orbit_statistics
    >>> orbit_statistics([[0.0, 1.5], [2.0, -1.0], [1.0, 1.0]], HorizontalFlip()).tolist()
    [[0.5, -0.5], [-0.5, 0.5], [0.0, 0.0]]
    """
    if not isinstance(orbit, HorizontalFlip | Dihedral | OptionOrders):
        raise InputError(
            f"`orbit` is {orbit!r}; it must be heldout.HorizontalFlip(), heldout.Dihedral() or heldout.OptionOrders(k)."
        )
    table = orbit.table(rule)
    s = np.asarray(scores, dtype=np.float64)
    if s.ndim != 2 or s.shape[0] == 0 or s.shape[1] != table.n_positions:
        raise InputError(
            f"`scores` has shape {s.shape}; it must be (n, {table.n_positions}) for the orbit {orbit.name!r}, at least "
            "one row."
        )
    if not np.isfinite(s).all():
        raise InputError(f"`scores` holds {int((~np.isfinite(s)).sum())} values that are not finite.")
    kept = np.broadcast_to(np.arange(s.shape[1]) == 0, s.shape) if unchanged is None else np.asarray(unchanged)
    if kept.shape != s.shape or kept.dtype != bool or not kept[:, 0].all():
        raise InputError(
            f"`unchanged` must be of True and False in the shape {s.shape}, with True in its first column: the first "
            "element is the one that changes nothing."
        )
    result = np.empty_like(s)
    kinds, kind = np.unique(kept, axis=0, return_inverse=True)
    for number, elements in enumerate(kinds):
        rows = np.flatnonzero(kind.reshape(-1) == number)
        merged = table.merged(elements)
        assert merged.first is not None
        points, place = np.unique(merged.first, return_inverse=True)
        result[rows] = _group_statistics(s[rows][:, points], merged, points, rule)[:, place]
    return result


def _group_statistics(s: Floats, table: MoveTable, points: NDArray[np.intp], rule: Rule) -> Floats:
    """Of distinct points, each of which can be moved to every other one."""
    wrong, others = s > 0.0, len(points) - 1
    if rule in ("random", "random2"):
        choices = max(1, others + (rule == "random2"))
        right = (~wrong).sum(axis=1, keepdims=True)
        weight = 1.0 / (1.0 + right / choices)  # (10)
        total = np.zeros((len(s), 1))
        for k in range(others):
            total = np.where(k < wrong.sum(axis=1, keepdims=True), total + weight, total)
        return np.where(wrong, weight - 1.0, total / choices)
    at = np.searchsorted(points, table.reached[points])  # (point, move) -> point
    seen = s[:, at]
    if rule == "nearest":
        assert table.lengths is not None
        order = np.lexsort((np.arange(table.n_moves), table.lengths))
        seen = np.where(seen > 0.0, -np.argsort(order), -np.inf)
    best = seen.argmax(axis=2)  # the first of equals
    target = at[np.arange(len(points)), best]
    moved = ~wrong & np.take_along_axis(wrong, target, axis=1)
    incoming = np.zeros(s.shape)  # n(x') of eq. 9
    np.add.at(incoming, (np.nonzero(moved)[0], target[moved]), 1.0)
    weight = 1.0 / (1.0 + incoming)  # (9)
    return np.where(wrong, weight - 1.0, np.where(moved, np.take_along_axis(weight, target, axis=1), 0.0))
