"""Groups of examples that depend on each other: frames of one video, crops of one patient, issues of one repository.

Every level and interval of heldout is for independent units. Where examples come in groups, the group is the unit:
whole groups are permuted, bet on and resampled.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.errors import InputError
from heldout.files import read_table

FEW = 30  # groups below which laws for many groups are rough; a warning says so

Codes = NDArray[np.intp]  # (n,) number of each example's group, 0 to G - 1


def group_codes(groups: ArrayLike | Sequence[Any], n: int, *, what: str = "groups") -> Codes:
    """Number the groups of n examples, whatever names they have.

    Parameters
    ----------
    groups : (n,) of text or whole numbers
        The group of each example; an example on its own is a group of one.
    what : str
        Name of the argument, for messages.

    Examples
    --------
    >>> group_codes(["b", "a", "b"], 3).tolist()
    [1, 0, 1]
    """
    values = np.asarray(groups)
    if values.shape != (n,):
        raise InputError(f"`{what}` has shape {values.shape}; give one group for each of the {n:,} examples.")
    if values.dtype.kind == "f":
        missing = ~np.isfinite(values)
    elif values.dtype.kind in "iub":
        missing = np.zeros(n, dtype=bool)
    else:
        missing = np.array([v is None or v != v or str(v).strip() == "" for v in values.tolist()], dtype=bool)
        values = np.array([str(v) for v in values.tolist()])
    names, codes = np.unique(values, return_inverse=True)
    if missing.any():
        raise InputError(
            f"`{what}` is empty for {int(missing.sum()):,} of {n:,} examples, the first at position "
            f"{int(np.argmax(missing))}; give an example that stands alone a group of its own."
        )
    if names.dtype.kind == "U":
        _check_blanks(names.tolist(), what)
    return np.asarray(codes, dtype=np.intp).reshape(n)


def _check_blanks(names: list[str], what: str) -> None:
    """Names that differ in blanks around them alone are one group to whoever reads them."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.strip(), name)
        if other != name:
            raise InputError(
                f"`{what}` has the names {other!r} and {name!r}, which differ in blanks around them alone; write them "
                "alike if they are one group, and otherwise rename one."
            )


def resolve_groups(spec: str, ids: Sequence[str], columns: Mapping[str, ArrayLike]) -> NDArray[Any]:
    """What `--groups SPEC` means: a CSV file, else a column of the data, else a regular expression on the ids.

    Parameters
    ----------
    spec : str
        A file with a header and the columns id, group; or the name of a column; or a regular expression that is
        searched for in every id, whose first bracket (or whole match, without brackets) is the group.
    ids : n str
        Names of the examples: file names, or whatever the data call them.
    columns : mapping
        What stands beside the examples, each (n,): arrays of an .npz, columns of a table.

    Returns
    -------
    (n,) array of group names

    Examples
    --------
    >>> resolve_groups(r"^(.*)_", ["ann_1.png", "ann_2.png", "bob_1.png"], {}).tolist()
    ['ann', 'ann', 'bob']
    """
    if Path(spec).is_file():
        found = _from_csv(Path(spec), ids)
    elif spec in columns:
        found = np.asarray(columns[spec])
    else:
        found = _from_pattern(spec, ids, columns)
    if len(ids) > 1 and len(np.unique(group_codes(found, len(ids)))) == 1:
        raise InputError(
            f"the groups {spec!r} put all {len(ids):,} examples into one, so that nothing is left to compare."
        )
    return found


def _from_csv(path: Path, ids: Sequence[str]) -> NDArray[Any]:
    _, rows = read_table(path, what="the groups in", example="id,group")
    table: dict[str, str] = {}
    for name, group, *_ in rows:
        if table.setdefault(name, group) != group:
            raise InputError(f"{path} puts {name!r} into two groups, {table[name]!r} and {group!r}.")
    lacking = [name for name in ids if name not in table]
    if lacking:
        raise InputError(
            f"{path} names no group for {len(lacking):,} of {len(ids):,} examples, the first {lacking[0]!r}; "
            "give an example that stands alone a group of its own."
        )
    return np.array([table[name] for name in ids])


def _from_pattern(spec: str, ids: Sequence[str], columns: Mapping[str, ArrayLike]) -> NDArray[Any]:
    if Path(spec).suffix.lower() in (".csv", ".tsv", ".txt"):
        raise InputError(f"there is no file {spec} to read groups from.")
    known = f"the data have the columns {', '.join(sorted(columns))}" if columns else "the data have no such column"
    if re.escape(spec) == spec:
        raise InputError(
            f"the groups {spec!r} are neither a file, nor a column ({known}), nor a regular expression "
            "such as '^(.*)_'."
        )
    try:
        pattern = re.compile(spec)
    except re.error as error:
        raise InputError(
            f"the groups {spec!r} are neither a file nor a column ({known}), and as a regular expression: {error}."
        ) from error
    found = [pattern.search(name) for name in ids]
    if not all(found):
        first = ids[[match is None for match in found].index(True)]
        raise InputError(
            f"the regular expression {spec!r} finds no group in {sum(m is None for m in found):,} of {len(ids):,} "
            f"examples, the first {first!r}."
        )
    return np.array([(match.group(1) if pattern.groups else match.group(0)) or "" for match in found if match])


def join_groups(*codes: Codes) -> Codes:
    """The finest groups in which two examples are together that any of the given groupings puts together.

    Examples
    --------
    >>> join_groups(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2])).tolist()
    [0, 0, 0, 1]
    """
    from scipy.sparse import coo_array  # here, because every verb loads this module and few have groups to join
    from scipy.sparse.csgraph import connected_components

    n = len(codes[0])
    rows = np.concatenate([np.arange(n)] * len(codes))
    offsets = np.cumsum([0, *(int(c.max(initial=-1)) + 1 for c in codes)])
    columns = np.concatenate([c + start for c, start in zip(codes, offsets[:-1], strict=True)]) + n
    size = n + int(offsets[-1])
    graph = coo_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(size, size))
    labels = connected_components(graph, directed=False)[1][:n]
    return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.intp).reshape(n)


def group_sizes(codes: Codes) -> NDArray[np.int64]:
    """(G,) examples of each group."""
    return np.bincount(codes).astype(np.int64)


def group_means(values: ArrayLike, codes: Codes) -> NDArray[np.float64]:
    """(G,) mean of each group's values.

    Examples
    --------
    >>> group_means([1.0, 3.0, 5.0], np.array([1, 1, 0])).tolist()
    [5.0, 2.0]
    """
    x = np.asarray(values, dtype=np.float64)
    return np.asarray(np.bincount(codes, weights=x) / np.bincount(codes))


def design_effect(values: ArrayLike, codes: Codes) -> float:
    r"""How many times the variance of a mean is what it would be, were the examples independent (Kish 1965).

    .. math:: \frac{\sum_g (\sum_{i\in g} (x_i - \bar x))^2}{\sum_i (x_i - \bar x)^2}
              \cdot \frac{G}{G - 1} \cdot \frac{n - 1}{n}

    1 where groups do not matter, the group size where all examples of a group are alike; NaN where all values are
    equal or there is one group only.

    Examples
    --------
    >>> round(design_effect([0, 0, 1, 1, 0, 0, 1, 1], np.array([0, 0, 1, 1, 2, 2, 3, 3])), 4)  # 2 but for small G
    2.3333
    """
    x = np.asarray(values, dtype=np.float64)
    centred = x - x.mean()
    within = float(np.sum(centred**2))
    n_groups = int(codes.max()) + 1
    if within == 0.0 or n_groups < 2:
        return float("nan")
    between = float(np.sum(np.bincount(codes, weights=centred) ** 2))
    return between / within * n_groups / (n_groups - 1) * (len(x) - 1) / len(x)
