"""T of v1 for the rule `strongest`, for many pictures at once, as small integers.

A picture's scores lie in a flat map of (6 radius + 1)^2 positions, row by row, the picture itself in the middle;
position c + v holds the score of the picture whose content has moved by v = (down, right). A score is
max_l logit_l - logit_y, and a point is wrong where its score is above 0.

Codes: 0 for a picture that no move makes wrong (T = 0); n, from 1 to M, for one that moves to a wrong point to which n
points in all are moved (T = 1 / (1 + n)); 128 + n, n from 0, for one that is wrong itself (T = 1 / (1 + n) - 1).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from store import WRONG
from torch import Tensor
from torch.nn import functional as F

RADIUS = 2

Score = Callable[[Tensor, Tensor, Tensor], Tensor]  # rows, down, right -> score of each


class Orbit:
    """Where the moves lead, on a map of the margin that the rule needs."""

    def __init__(self, radius: int, device: torch.device | str) -> None:
        self.radius, self.reach = radius, 3 * radius
        self.side = 2 * self.reach + 1
        self.centre = self.reach * self.side + self.reach
        r = torch.arange(-radius, radius + 1, device=device)
        steps = (r[:, None] * self.side + r).flatten()  # in row-major order
        self.steps = steps[steps != 0]

    def around(self, positions: Tensor) -> Tensor:
        """The positions that the moves lead to from each."""
        return positions[..., None] + self.steps


class Maps:
    """Scores of n pictures, each asked for once."""

    def __init__(self, score: Score, n: int, orbit: Orbit, device: torch.device | str) -> None:
        self.score, self.orbit, self.device = score, orbit, device
        self.values = torch.full((n, orbit.side**2), torch.nan, device=device)
        self.evaluations = 0

    def ask(self, rows: Tensor, positions: Tensor) -> None:
        """Make the scores at these positions known, (k,) rows and (k, p) positions; the same one may come twice."""
        wanted = torch.zeros_like(self.values, dtype=torch.bool)
        wanted[rows[:, None].expand_as(positions), positions] = True
        where = (wanted & self.values.isnan()).nonzero()
        self.evaluations += len(where)
        if len(where):
            row, position = where.unbind(1)
            down, right = position // self.orbit.side - self.orbit.reach, position % self.orbit.side - self.orbit.reach
            self.values[row, position] = self.score(row, down, right)

    def at(self, rows: Tensor, positions: Tensor) -> Tensor:
        return self.values[rows.view(-1, *[1] * (positions.ndim - 1)), positions]

    def centres(self) -> Tensor:
        """The score of every picture itself."""
        rows = torch.arange(len(self.values), device=self.device)
        self.ask(rows, torch.full((len(rows), 1), self.orbit.centre, device=self.device))
        return self.values[:, self.orbit.centre]


def strongest(maps: Maps) -> np.ndarray:
    """The code of every picture, asking for scores only where they can still matter; equal to that of full maps."""
    orbit = maps.orbit
    here = maps.centres()
    codes = torch.zeros(len(here), dtype=torch.int64, device=here.device)
    target = torch.full_like(codes, orbit.centre)

    # g: the first of the worst among the moves, for pictures that are right
    rows = (~(here > 0)).nonzero().flatten()
    window = orbit.around(target[rows])
    maps.ask(rows, window)
    seen = maps.at(rows, window)
    worst = seen.amax(dim=1)
    first = (seen == worst[:, None]).to(torch.uint8).argmax(dim=1)  # of equals the first
    target[rows] = window.gather(1, first[:, None])[:, 0]
    moved = torch.zeros_like(codes, dtype=torch.bool)
    moved[rows] = worst > 0

    # n: the right points z around the target x' whose own choice is x'
    rows = (moved | (here > 0)).nonzero().flatten()
    goal = target[rows]
    goal_score = maps.at(rows, goal[:, None])[:, :, None]
    z = orbit.around(goal)
    maps.ask(rows, z)
    choices = orbit.around(z)  # (picture, z, where z could go)

    def out() -> Tensor:
        """Which z are known to be wrong, or to see a point that they prefer to x'."""
        seen = maps.at(rows, choices)
        preferred = (seen > goal_score) | ((seen == goal_score) & (choices < goal[:, None, None]))
        return (maps.at(rows, z) > 0) | preferred.any(dim=2)

    open_rows, open_z = (~out()).nonzero().unbind(1)
    maps.ask(rows[open_rows], choices[open_rows, open_z])
    codes[rows] = (~out()).sum(dim=1) + torch.where(here[rows] > 0, WRONG, 0)
    return codes.to(torch.uint8).cpu().numpy()


def full(maps: Maps) -> np.ndarray:
    """Whole maps, (n, side, side): for checks from outside."""
    n, cells = maps.values.shape
    rows = torch.arange(n, device=maps.device)
    maps.ask(rows, torch.arange(cells, device=maps.device).expand(n, -1))
    return maps.values.view(n, maps.orbit.side, maps.orbit.side).cpu().numpy()


def ranks(maps: Maps) -> np.ndarray:
    """Whole maps, (n, side, side) uint8: 0 where right, else the rank of the score among the wrong points of the map.

    Equal scores have equal ranks. That is all that T depends on, by any rule, with any radius and from any start.
    """
    n, cells = maps.values.shape
    every = torch.arange(cells, device=maps.device)
    out = []
    for rows in torch.arange(n, device=maps.device).split(10_000):
        maps.ask(rows, every.expand(len(rows), -1))
        scores = F.pad(maps.values[rows].clamp(min=0), (1, 0))  # right is 0, and 0 is there
        ordered, order = scores.sort(dim=1)
        rank = F.pad((ordered[:, 1:] > ordered[:, :-1]).cumsum(dim=1), (1, 0))
        placed = torch.empty_like(rank).scatter_(1, order, rank)[:, 1:]
        out.append(placed.to(torch.uint8).view(-1, maps.orbit.side, maps.orbit.side).cpu().numpy())
    return np.concatenate(out)
