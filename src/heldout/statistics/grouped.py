r"""Shares and differences over examples that come in groups: the group is the unit.

Groups are drawn anew, with their sizes; what is estimated is the share of examples, as leaderboards report it, a
ratio of two sums over groups. Everything here works on moments of the groups, so that all models of a pool, or all
pairs, are done at once.

A jackknife with Student's law for G - 1 degrees of freedom is the usual answer, and it is not enough: with 30 groups
of 1 to 20 examples, 70 % alike, and errors of 5 %, its intervals missed one of two models 34 % of the time at 5 %,
since a model that happens to be wrong in small groups only looks far too sure. So the variance is no smaller than that
of equally correlated examples, whose correlation is taken from the model and from all models together, with one
group added that is at 1/2 and all alike; that costs little with many groups.

References
----------
Korn, Graubard (1998). Survey Methodology 24(2), 193-201. Kish (1965). Survey Sampling. Bell, McCaffrey (2002). Survey
Methodology 28(2), 169-181.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincinv, ndtri, stdtr, stdtrit

Floats = NDArray[np.float64]

ADDED = 0.25  # variance of one added group at share 1/2
LEAST_LEVEL = 1e-21  # below, more than 10^18 models fit
LEVEL_STEPS = 48
LEAST_WORTH = 1e-12  # examples: an interval is then all of [0, 1]


@dataclass(frozen=True, eq=False)
class GroupMoments:
    """Sums over the groups of a value x per example, for many models or pairs at once; all (k,) or scalars.

    Parameters
    ----------
    n, n_groups
        Examples, and groups that hold any.
    s2, s3, s4
        Sums over groups of the second, third and fourth power of their sizes.
    total, square
        Sums over examples of x and of x².
    between
        Sum over groups of e_g², e_g the group's sum of x less the mean of x times its size.
    jackknife
        (G - 1) / G times the sum of (e_g / (1 - n_g / n))²: the jackknife variance of `total`.
    """

    n: Floats
    n_groups: Floats
    s2: Floats
    s3: Floats
    s4: Floats
    total: Floats
    square: Floats
    between: Floats
    jackknife: Floats

    @property
    def within(self) -> Floats:
        """n times the variance of x."""
        return np.asarray(np.maximum(0.0, self.square - self.total**2 / self.n))

    @property
    def design_effect(self) -> Floats:
        """Kish's design effect, as `heldout.groups.design_effect`; NaN where x does not vary."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.between / self.within * self._correction * (self.n - 1) / self.n
        return np.asarray(np.where((self.within > 0) & (self.n_groups > 1), ratio, np.nan))

    @property
    def _correction(self) -> Floats:
        return np.asarray(self.n_groups / np.maximum(self.n_groups - 1, 1))

    def repeated(self, times: float) -> GroupMoments:
        """Moments to expect of so many times as many groups like these, with the same variances.

        Examples
        --------
        Twenty groups of five become forty; what one group more or less does to their spread stays in its place.

        >>> one = np.ones(1)
        >>> parts = dict(zip(("n", "n_groups", "s2", "s3", "s4"), (100 * one, 20 * one, 500 * one, one, one)))
        >>> twice = GroupMoments(**parts, total=one, square=one, between=one, jackknife=3 * one).repeated(2.0)
        >>> float(twice.n[0]), float(twice.n_groups[0]), float(twice.jackknife[0])
        (200.0, 40.0, 6.0)
        """
        return GroupMoments(**{field.name: getattr(self, field.name) * times for field in fields(self)})

    def correlation_parts(self) -> tuple[Floats, Floats]:
        """Numerator and denominator of the correlation of two examples of a group, one group at 1/2 added."""
        pairs = self.s2 - self.n
        added = ADDED * pairs / np.maximum(self.n_groups, 1)
        return (
            np.asarray((self.between - self.within) * self._correction + added),
            np.asarray(self.within / self.n * pairs + added),
        )

    def correlation(self) -> Floats:
        """Correlation of two examples of a group: the larger of each one's own and all together, within 0 and 1."""
        above, below = (np.atleast_1d(part) for part in self.correlation_parts())
        together = float(above.mean() / below.mean()) if below.mean() > 0 else 0.0
        own = np.divide(above, below, out=np.zeros_like(below), where=below > 0)
        return np.asarray(np.clip(np.maximum(own, together), 0.0, 1.0))

    def spread(self, correlation: ArrayLike) -> tuple[Floats, Floats]:
        """How many times the variance of independent examples, at least 1, and degrees of freedom.

        The larger of the jackknife's and that of equally correlated examples. Degrees of freedom are those of a sum of
        groups whose variances are as unequal as their sizes make them (Satterthwaite).
        """
        r = np.asarray(correlation, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            seen = np.where(self.within > 0, self.jackknife / self.within, self.s2 / self.n)
        times = np.maximum(np.maximum(seen, 1 + r * (self.s2 / self.n - 1)), 1.0)
        first = self.n + r * (self.s2 - self.n)
        second = (1 - r) ** 2 * self.s2 + 2 * r * (1 - r) * self.s3 + r**2 * self.s4
        return np.asarray(times), np.asarray(np.maximum(first**2 / second - 1, 1.0))


def korn_graubard(share: ArrayLike, n: ArrayLike, df: ArrayLike, level: ArrayLike) -> tuple[Floats, Floats]:
    """Clopper-Pearson intervals at an effective number of examples, each at 1 - level; never of width 0.

    Parameters
    ----------
    share : array
        Observed shares.
    n : array
        Effective numbers of examples, n over the design effect.
    df : array
        Degrees of freedom of the design effects: n is made smaller by (z / t)², normal and Student quantile.
    level : array
        Probability of a miss, both sides together.

    Examples
    --------
    With very many degrees of freedom it is Clopper and Pearson's (1,715 right of 2,021, as in `clopper_pearson`):

    >>> low, high = korn_graubard(1715 / 2021, 2021, 1e12, 0.05)
    >>> round(100 * float(low), 1), round(100 * float(high), 1)
    (83.2, 86.4)
    """
    share, n, df, level = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (share, n, df, level)))
    n = _worth(n, df, level)
    x = share * n
    with np.errstate(invalid="ignore"):
        low = np.where(share <= 0, 0.0, betaincinv(x, n - x + 1, level / 2))
        high = np.where(share >= 1, 1.0, 1 - betaincinv(n - x, x + 1, level / 2))
    return low, high


def korn_graubard_level(share: ArrayLike, n: ArrayLike, df: ArrayLike, epsilon: ArrayLike) -> Floats:
    """The smallest level whose Korn-Graubard interval lies within epsilon of the share: what epsilon costs.

    Examples
    --------
    >>> low, high = korn_graubard(0.3, 200, 20, 0.01)
    >>> round(float(korn_graubard_level(0.3, 200, 20, max(high - 0.3, 0.3 - low))), 6)
    0.01
    """
    share, n, df, epsilon = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (share, n, df, epsilon)))
    shape = share.shape
    share, n, df, epsilon = (v.reshape(-1, shape[-1] if shape else 1) for v in (share, n, df, epsilon))

    def fits(t: Floats) -> NDArray[np.bool_]:
        """Whether the interval at Student's quantile t, whose level is 2 P(T < -t), lies within epsilon."""
        tail = stdtr(df, -t)
        worth = np.maximum(n * np.minimum(1.0, ndtri(tail) / t) ** 2, LEAST_WORTH)
        x = share * worth
        top, bottom = np.clip(share + epsilon, 0, 1), np.clip(share - epsilon, 0, 1)
        with np.errstate(invalid="ignore"):
            above = np.where(share + epsilon >= 1, True, betainc(worth - x, x + 1, 1 - top) <= tail)
            below = np.where(share - epsilon <= 0, True, betainc(x, worth - x + 1, bottom) <= tail)
        return np.asarray(above & below)

    # By quantiles, not by levels: Student's tail is cheap, its inverse is not, and is taken once per model.
    good, bad = np.full(share.shape, 1e-6), np.broadcast_to(-stdtrit(df[:1], LEAST_LEVEL / 2), share.shape)
    never, always = ~fits(good), fits(bad)
    for _ in range(LEVEL_STEPS):
        middle = np.sqrt(good * bad)
        yes = fits(middle)
        good, bad = np.where(yes, middle, good), np.where(yes, bad, middle)
    level = np.where(always, LEAST_LEVEL, 2 * stdtr(df, -good))
    return np.asarray(np.where(never, 1.0, level)).reshape(shape)


def _worth(n: Floats, df: Floats, level: Floats) -> Floats:
    """Examples after the price of not knowing the design effect, (z / t)² of them."""
    z, t = ndtri(level / 2), stdtrit(df, level / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(t < 0, np.minimum(1.0, z / t), 1.0)
    return np.asarray(np.maximum(n * ratio**2, LEAST_WORTH))
