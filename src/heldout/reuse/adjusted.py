r"""How alike models are once their errors are taken into account.

Two models that are right on 95 % each agree on most examples whatever they have in common. Chance-adjusted agreement
takes off what independent models of the same accuracies a, b would agree on,

.. math:: \kappa = \frac{c_{obs} - c_{exp}}{1 - c_{exp}}.    \tag{1}

Three kinds, by what is known of each answer:

- **right or wrong**: Cohen's kappa of the two rows of right and wrong, also called error consistency [1]_:
  c_obs is the similarity, c_exp = a b + (1 - a)(1 - b);
- **answers**: CAPA, or kappa_p [2]_, of the answers given: both give the same one, right or wrong, and by chance a
  wrong one is any of m_x - 1. Cohen's kappa of the answers, which takes off how often both give each of them and is
  near 1 for any two good models, is another number;
- **probabilities**: CAPA, with a, b the mean probabilities of the right option,

.. math:: c_{obs} = \frac1n \sum_x \sum_o p_1(o \mid x)\, p_2(o \mid x), \qquad
          c_{exp} = a b + (1 - a)(1 - b)\, \frac1n \sum_x \frac{1}{m_x - 1}.    \tag{2}

"Answers" is (2) with probabilities of 0 and 1.

References
----------
.. [1] Geirhos, Meding, Wichmann (2020). Beyond accuracy: quantifying trial-by-trial behaviour of CNNs and humans by
   measuring error consistency. NeurIPS. Cohen (1960). Educ. Psychol. Meas. 20(1), 37-46.
.. [2] Goel, Strüber, Auzina et al. (2025). Great models think alike and this undermines AI oversight. arXiv:2502.04313.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.checks import quoted
from heldout.errors import InputError
from heldout.files import Npz, read_npy
from heldout.predictions import Predictions
from heldout.reuse.leaderboard import MOST_RANKED
from heldout.reuse.similarity import SimilarityResult

Floats = NDArray[np.float64]

LEAST_PREDICTED = 0.5  # of the cells, beyond chance, in which a model predicts its most probable option
TIED = 1e-6
MOST_OPTIONS = 1_000  # classes; with more, wrong answers are taken never to agree by chance


@dataclass(frozen=True, kw_only=True)
class Adjusted:
    """Chance-adjusted agreement, mean over pairs; NaN where it is not known or not defined.

    `right` is Cohen's kappa of right and wrong, `answers` CAPA of the answers given, `probabilities` CAPA of
    probabilities of the options.
    """

    right: float
    answers: float = math.nan
    probabilities: float = math.nan


def adjusted_similarity(
    table: Predictions, counts: SimilarityResult, probabilities: ArrayLike | None = None
) -> Adjusted:
    """What can be told of a table, by every kind for which it has what is needed."""
    by_answers = answer_kappa(table)
    given = None
    if probabilities is not None:
        given = capa(probabilities, _option_numbers(table, probabilities))
        _check_predicted(table, np.asarray(probabilities, dtype=np.float64))
    return Adjusted(
        right=counts.mean_kappa,
        answers=math.nan if by_answers is None else _mean(by_answers),
        probabilities=math.nan if given is None else _mean(given),
    )


def answer_kappa(table: Predictions) -> Floats | None:
    """(k, k) CAPA of the answers given; None where these are not known, or some are missing.

    The number of options is that of the column `n_options` where the table has one, else that of different labels;
    texts that are nearly all different are no options, and wrong ones then never agree by chance. What is no option (a
    number below 0, or beyond the column's; an empty text) stands for an answer that could not be read, and agrees with
    nothing.

    Examples
    --------
    >>> pool = Predictions.from_arrays([[0, 1, 1, 0], [0, 1, 0, 0]], [0, 1, 0, 1])
    >>> answer_kappa(pool).round(4).tolist()  # they agree on 3 of 4; right on 2 and 3; wrong ones are the same
    [[1.0, 0.5], [0.5, 1.0]]
    """
    if table.predictions is None or table.labels is None or table.n_missing or table.n_models > MOST_RANKED:
        return None
    answers, right = table.predictions, table.correct
    k, n = answers.shape
    codes = np.unique(answers, return_inverse=True)[1].reshape(k, n)
    codes = np.where(_is_option(table), codes, -1)
    same = np.array([np.count_nonzero((codes == row) & (row >= 0), axis=1) for row in codes]) / n
    return _kappa(same, right.mean(axis=1), chance_of_wrong(table))


def _is_option(table: Predictions) -> NDArray[np.bool_]:
    """(k, n) whether an answer is one of the options; what stands among the labels is."""
    assert table.predictions is not None
    answers = table.predictions
    if answers.dtype.kind not in "iu":
        option = np.char.strip(answers.astype(str)) != ""
    else:
        most = np.asarray(table.columns.get("n_options", np.inf), dtype=np.float64)
        option = (answers >= 0) & (answers < most)
    return np.asarray(option | np.isin(answers, np.unique(np.asarray(table.labels))))


def chance_of_wrong(table: Predictions) -> float:
    """Mean over examples of 1 / (m_x - 1): how often two wrong answers are the same by chance; 0 if unknown."""
    if "n_options" in table.columns:
        options = np.asarray(table.columns["n_options"], dtype=np.float64)
        if not (options >= 2).all():
            raise InputError("the column 'n_options' must hold two options or more for every example.")
        return float((1 / (options - 1)).mean())
    m = n_classes(table)
    return 0.0 if m is None else 1 / (m - 1)


def n_classes(table: Predictions) -> int | None:
    """Number of classes; None where labels are not known, or are free texts that are nearly all different."""
    if table.labels is None:
        return None
    m = len(np.unique(table.labels))
    return m if 2 <= m <= min(MOST_OPTIONS, table.n_examples // 2) else None


def capa(probabilities: ArrayLike, labels: ArrayLike) -> Floats:
    """(k, k) chance-adjusted probabilistic agreement, kappa_p (2); 1 or less, NaN where it is not defined.

    A model's agreement with itself is 1 only where all its probabilities are 0 or 1.

    Parameters
    ----------
    probabilities : (n_models, n_examples, n_options)
        Each example's sum to 1; NaN for options that an example does not have.
    labels : (n_examples,) int
        Position of the right option.

    Examples
    --------
    >>> capa([[[0.8, 0.2], [0.6, 0.4]], [[0.7, 0.3], [0.1, 0.9]]], [0, 1]).round(4)[0, 1].item()
    -0.0909
    """
    p = np.asarray(probabilities, dtype=np.float64)
    y = np.asarray(labels)
    if p.ndim != 3 or y.shape != p.shape[1:2]:
        raise InputError(
            f"`probabilities` has the shape {p.shape} and there are {y.shape} labels; (n_models, n_examples, "
            "n_options) and one label for each example are needed."
        )
    there = ~np.isnan(p[0])
    if (np.isnan(p) == there).any():
        raise InputError(
            "`probabilities`: an example must have the same options (NaN for those it lacks) in every model."
        )
    p = np.where(there, p, 0.0)
    options = there.sum(axis=1)
    if (options < 2).any():
        raise InputError("`probabilities`: every example needs two options or more.")
    if (p < -1e-6).any() or (np.abs(p.sum(axis=2) - 1) > 1e-3).any():
        raise InputError("`probabilities` must be 0 or more and sum to 1 for every example of every model.")
    if y.dtype.kind not in "iu" or (y < 0).any() or (y >= options).any():
        raise InputError("`labels` must number the options of each example from 0.")
    k, n = p.shape[:2]
    flat = p.reshape(k, -1)
    same = flat @ flat.T / n
    of_right = p[:, np.arange(n), y].mean(axis=1)
    return _kappa(same, of_right, float((1 / (options - 1)).mean()))


def _kappa(same: Floats, right: Floats, chance: float) -> Floats:
    expected = np.outer(right, right) + chance * np.outer(1 - right, 1 - right)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(expected < 1, (same - expected) / (1 - expected), np.nan))  # (1)


def _mean(matrix: Floats) -> float:
    pairs = matrix[np.triu_indices(len(matrix), 1)]
    pairs = pairs[np.isfinite(pairs)]
    return float(pairs.mean()) if len(pairs) else math.nan


def _option_numbers(table: Predictions, probabilities: ArrayLike) -> NDArray[Any]:
    shape = np.asarray(probabilities).shape
    if table.labels is None or table.labels.dtype.kind not in "iu":
        raise InputError("`probabilities` need labels that number the options from 0.")
    if shape[:2] != (table.n_models, table.n_examples):
        raise InputError(
            f"`probabilities` has the shape {shape}; ({table.n_models}, {table.n_examples}, options) "
            "is needed, models and examples in the order of the table."
        )
    return table.labels


def _check_predicted(table: Predictions, p: Floats) -> None:
    """Most predictions must be the most probable option, or the rows are others than the table's.

    It is refused, not warned of: CAPA of other rows than the table's says nothing. What rows in random order would
    agree on is taken off as in (1), since where one class is common that is most of them.
    """
    assert table.predictions is not None
    for row, (said, probable) in enumerate(zip(table.predictions, p, strict=True)):
        there = (said >= 0) & (said < p.shape[2])
        if table.observed is not None:
            there &= table.observed[row]
        if not there.any():
            continue
        chosen = np.nan_to_num(probable[there], nan=-1.0)
        top = chosen >= chosen.max(axis=1, keepdims=True) - TIED
        same = float(top[np.arange(len(top)), said[there]].mean())
        by_chance = float(top.mean(axis=0) @ np.bincount(said[there], minlength=p.shape[2])) / len(top)
        if same - by_chance < LEAST_PREDICTED * (1 - by_chance):
            raise InputError(
                f"`probabilities`: of {table.names[row]!r} the most probable option is the prediction in "
                f"{100 * same:.1f} % of {len(top):,} cells, and would be in {100 * by_chance:.1f} % of rows in random "
                "order; give models and examples in the order of the table, and options in that of the classes."
            )


def read_probabilities(path: str | Path) -> Floats:
    """(n_models, n_examples, n_options) from a .npy file, or the array `probabilities` (or the only one) of a .npz."""
    file = Path(path)
    try:
        if file.suffix == ".npz":
            with Npz(file) as arrays:
                if "probabilities" not in arrays and len(arrays) != 1:
                    raise InputError(f"{file} holds {quoted(arrays)}; one array, or 'probabilities', is needed.")
                key = "probabilities" if "probabilities" in arrays else next(iter(arrays))
                return np.asarray(arrays[key], dtype=np.float64)
        return np.asarray(read_npy(file), dtype=np.float64)
    except (OSError, ValueError, EOFError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"cannot read probabilities from {file}: {error}.") from error
