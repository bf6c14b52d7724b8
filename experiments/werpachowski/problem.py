"""The synthetic problem: two truncated Gaussians in R^500, linear models, and T with its closed-form density."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr, ndtri

from heldout.errors import InputError

Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Bools = NDArray[np.bool_]

DIMENSION = 500
SIGMA = math.sqrt(500.0)
MARGIN = 0.025  # no data where |x_1| <= MARGIN
N_TRAIN = 500


@dataclass(frozen=True, kw_only=True)
class Case:
    """One of the two experiments of section 4."""

    name: str
    n_test: int
    penalty: float  # times w_1^2, added to the training loss
    n_shared: int  # the first examples of the test set are the training set


CASES = (
    Case(name="independent", n_test=10_000, penalty=0.0, n_shared=0),
    Case(name="overfitted", n_test=1_000, penalty=1e4, n_shared=N_TRAIN),
)


def draw_points(
    n: int,
    *,
    rng: np.random.Generator,
    dimension: int = DIMENSION,
    sigma: float = SIGMA,
    margin: float = MARGIN,
) -> tuple[Floats32, Floats32]:
    """Draw n points and their labels from the mixture of two truncated Gaussians.

    Label y = +1 or -1 with equal chance; y x_1 is N(1, sigma^2) given y x_1 > margin, by inversion of
    its distribution function; the other coordinates are N(0, sigma^2).

    Returns
    -------
    points : (n, dimension) float32
    labels : (n,) float32, the sign of the first coordinate
    """
    labels = rng.choice(np.array([-1, 1], dtype=np.float32), size=n)
    points = rng.standard_normal((n, dimension), dtype=np.float32) * np.float32(sigma)
    tail = ndtr((1.0 - margin) / sigma) * (1.0 - rng.random(n))  # P(y x_1 > .), never 0
    first = (1.0 - sigma * ndtri(tail)).astype(np.float32)
    # Rounding to float32 may put a point on the margin, where there is no data.
    points[:, 0] = labels * np.maximum(first, np.nextafter(np.float32(margin), np.float32(1)))
    return points, labels


@dataclass(frozen=True, kw_only=True)
class Projections:
    """All that T needs to know of points, labels and a linear model; u = w / |w|."""

    distance: Floats  # y (w.x + b) / |w|, negative where the model is wrong
    centred: Floats  # y u.(x - mu_y) = y u.x - u_1
    first: Floats  # y x_1
    slope: Floats | float  # u_1, one a model


def project(points: NDArray[Any], labels: NDArray[Any], weights: NDArray[Any], bias: float) -> Projections:
    """Project points (n, d) on the normal of the model sgn(w.x + b), in float64."""
    w = np.asarray(weights, dtype=np.float64)
    norm = float(np.linalg.norm(w))
    if norm == 0.0:
        raise InputError("`weights` are all 0; the attack direction w / |w| is not defined.")
    y = np.asarray(labels, dtype=np.float64)
    along = y * (np.asarray(points, dtype=np.float64) @ w) / norm
    slope = float(w[0]) / norm
    return Projections(
        distance=along + y * (float(bias) / norm),
        centred=along - slope,  # mu_y = y e_1
        first=y * points[:, 0].astype(np.float64),
        slope=slope,
    )


def log_density_ratio(centred: NDArray[Any], *, shift: float, sigma: float = SIGMA) -> Floats:
    r"""Log of rho(x - shift y u) / rho(x), for two points of one label outside the margin.

    .. math:: \ln\frac{\rho(x - s y u)}{\rho(x)}
        = \frac{\|x - \mu_y\|^2 - \|x - s y u - \mu_y\|^2}{2 \sigma^2}
        = \frac{2 s\, y u^\top (x - \mu_y) - s^2}{2 \sigma^2}.

    Only a difference of squared distances: the 500-dimensional densities themselves underflow.
    """
    return np.asarray((2.0 * shift * centred - shift * shift) / (2.0 * sigma * sigma))


@dataclass(frozen=True, kw_only=True)
class PairwiseStatistics:
    """T and what it is made of, one entry an example."""

    T: Floats  # eq. (5)
    density: Floats  # h_g(g(x)) where g(x) is wrong, else nan
    wrong: Bools  # L(x)
    wrong_after: Bools  # L(g(x))


def pairwise_statistics(
    at: Projections, *, strength: float, sigma: float = SIGMA, margin: float = MARGIN
) -> PairwiseStatistics:
    r"""T = L(g(x)) h_g(g(x)) - L(x), equation (5) of v1, for the one-step attack of section 4.

    The attack moves x to x' = x - strength * y u where x is right and x' keeps the label,
    y x'_1 > 0; it leaves every other x in place. So a wrong point z has at most one other pre-image,
    z + strength * y u, which is moved there if it is right and has the label of z, and (display before
    "We present two experiments")

    .. math:: h_g(z) = \frac{\rho(z)}{\rho(z) + \rho(z + s y u)\,[z + s y u \text{ right, same label}]}.

    * x right, moved to a wrong x': T = h_g(x'), with x itself as the pre-image. 0 if x' lies in the
      margin, where rho(x') = 0.
    * x right and x' right or of another label: T = 0.
    * x wrong: T = h_g(x) - 1, which is below 0 only if x + strength * y u is right, has the label
      of x and lies outside the margin (in it rho is 0, and h_g(x) = 1).

    T lies in [-1, 1]. A point on the model's own boundary counts as right.
    """
    wrong = at.distance < 0.0
    moved_first = at.first - strength * at.slope  # y x'_1
    hit = ~wrong & (moved_first > 0.0) & (at.distance - strength < 0.0)
    origin_first = at.first + strength * at.slope  # y times the first coordinate of the pre-image
    has_origin = wrong & (origin_first > margin) & (at.distance + strength >= 0.0)

    # h = rho' / (rho' + rho) = expit(ln rho' - ln rho), for the new and for the old wrong points
    log_moved = log_density_ratio(at.centred, shift=strength, sigma=sigma)  # ln rho(x') - ln rho(x)
    h_new = np.where(moved_first > margin, expit(log_moved), 0.0)
    log_origin = log_density_ratio(at.centred, shift=-strength, sigma=sigma)  # ln rho(origin) - ln rho(x)
    share_of_origin = np.where(has_origin, expit(log_origin), 0.0)  # 1 - h, without cancellation
    density = np.where(hit, h_new, np.where(wrong, 1.0 - share_of_origin, np.nan))
    T = np.where(hit, h_new, np.where(wrong, -share_of_origin, 0.0))  # (5)
    return PairwiseStatistics(T=T, density=density, wrong=wrong, wrong_after=wrong | hit)


def expected_error(
    weights: NDArray[Any],
    bias: float,
    *,
    sigma: float = SIGMA,
    margin: float = MARGIN,
) -> float:
    """R(f) of a linear model, exact: the paper estimates it on a large independent test set.

    Given y and x_1 the rest of w.x is N(0, sigma^2 |w_2..d|^2), so only x_1 is left to integrate
    over: 2,000 midpoints in its distribution function, for each label.
    """
    w = np.asarray(weights, dtype=np.float64)
    uniform = (np.arange(2000) + 0.5) / 2000
    first = 1.0 - sigma * ndtri(ndtr((1.0 - margin) / sigma) * uniform)
    rest = sigma * float(np.linalg.norm(w[1:]))
    errors = [ndtr(-(w[0] * first + y * float(bias)) / rest).mean() for y in (-1.0, 1.0)]
    return float(np.mean(errors))
