"""What a comparison returns: prints itself, travels as a dict, is saved as npz + JSON."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.errors import InputError
from heldout.files import read_result, write_result
from heldout.statistics.confidence_sequence import ConfidenceSequence
from heldout.statistics.paired import is_told

FIRST, SECOND, NEITHER = "first better", "second better", "not told apart"
MOVED = "order matters"
SHOWN = 5  # examples printed on each side
PAIRS_SHOWN = 40  # pairs printed
TERMINAL = 118  # characters
FEW_EXAMPLES = 1_000  # examples that JSON lists on each side; the .npz has all


@dataclass(frozen=True, kw_only=True)
class Parted:
    """An example on which two models part."""

    position: int
    id: str | None
    first: float  # score of the first model
    second: float
    label: str | None = None
    first_answer: str | None = None
    second_answer: str | None = None
    text: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without what is not known."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True, kw_only=True, eq=False)
class CompareResult:
    """Two models on the examples that both have.

    Parameters
    ----------
    difference : float
        Mean score of the first less that of the second, over examples; with a sequence over groups, over groups.
    log_p_value : float
        Of "equally good", two-sided, of this pair alone. With a sequence: valid at every look.
    interval : (float, float)
        Of the difference, at 1 - `interval_level`, within [-1, 1]. Zero is outside exactly where p is at most
        `interval_level`. NaN where a sequence found that the difference moved with the order.
    level : float
        At which the verdict is given.
    n_pairs : int
        Pairs that were compared at once; the verdict then goes by `adjusted_log_p` (Holm), and `interval_level` is
        level / n_pairs, so that all intervals hold at once.
    first_only, second_only : int
        Examples on which the first, the second has the higher score.
    detectable_difference : float
        True difference that would have been found with probability 0.8; NaN where none would.
    test, null : str
        What was tested, and how.
    discordant : (m,) int
        Positions of the examples on which they part.
    parted : tuple of Parted
        Some of them in words: the largest differences, those of the first model's before the second's.
    n_groups : int or None
        Groups of examples, where they are the unit.
    n_waiting : int
        Examples at the end of a sequence that do not count yet: more of their group may come.
    """

    first: str
    second: str
    score_first: float
    score_second: float
    difference: float
    log_p_value: float
    adjusted_log_p: float
    interval: tuple[float, float]
    level: float
    interval_level: float
    n_pairs: int
    n_examples: int
    n_missing: int
    first_only: int
    second_only: int
    detectable_difference: float
    binary: bool
    test: str
    null: str
    n_groups: int | None
    groups_named: str | None
    n_waiting: int
    sequence: ConfidenceSequence | None
    discordant: NDArray[np.int64]
    parted: tuple[Parted, ...]
    source: str
    data_digest: str
    version: str

    @property
    def p_value(self) -> float:
        """Of this pair alone."""
        return math.exp(self.log_p_value)

    @property
    def adjusted_p_value(self) -> float:
        """Holm's, over all pairs that were compared at once; the same as `p_value` for one pair."""
        return math.exp(self.adjusted_log_p)

    @property
    def n_discordant(self) -> int:
        """Examples on which the scores differ."""
        return self.first_only + self.second_only

    @property
    def verdict(self) -> str:
        """Which of the two is better, if that can be told at `level`."""
        return self.verdict_at(self.level)

    def verdict_at(self, level: float) -> str:
        """The same at another level; "order matters" where a sequence found that no one difference holds throughout."""
        if self.sequence is not None and self.sequence.moved:
            return MOVED
        if not is_told(self.adjusted_log_p, level):
            return NEITHER
        up = self.difference > 0 if self.sequence is None else self.sequence.upward
        return FIRST if up else SECOND

    @property
    def better(self) -> str | None:
        """Name of the better model; None where they are not told apart."""
        return {FIRST: self.first, SECOND: self.second}.get(self.verdict)

    @property
    def never(self) -> str | None:
        """Where no difference whatsoever could have been found: that, and why."""
        if not math.isnan(self.detectable_difference):
            return None
        count = self.n_examples if self.n_groups is None else self.n_groups
        sizes = "" if self.n_groups is None else " of these sizes"
        return f"{count:,} {self.unit}{sizes} can never reach level {self.interval_level:.2g}, whatever they say."

    @property
    def unit(self) -> str:
        """What has to be independent."""
        return "examples" if self.n_groups is None else "groups"

    def sentence(self) -> str:
        """The answer."""
        return f"{self.scores_sentence()} {self.verdict_sentence()}"

    def scores_sentence(self) -> str:
        """What was measured."""
        over = f"{self.n_examples:,} examples"
        if self.sequence is not None and self.n_groups is not None:
            over += f" in {self.n_groups:,} groups, each of which counts once"
        if self.binary:
            return (
                f"{self.first} is right on {100 * self.score_first:.2f} % and {self.second} on "
                f"{100 * self.score_second:.2f} % of {over}."
            )
        return (
            f"{self.first} scores {self.score_first:.4f} and {self.second} {self.score_second:.4f}, on average over "
            f"{over}."
        )

    def verdict_sentence(self) -> str:
        """What follows."""
        p = p_text(self.adjusted_log_p)
        holm = ", Holm over all pairs" if self.n_pairs > 1 else ""
        if self.better is not None:
            return f"{self.better} is better at level {self.level:g} (p = {p}{holm})."
        if self.verdict == MOVED:
            return (
                f"The difference moved with the order of the {self.unit}: no one value fits all looks. Take them in "
                "random order, or leave out --sequential."
            )
        text = f"They are not told apart at level {self.level:g} (p = {p}{holm})."
        if self.never:
            text += f" {self.never}"
        if math.isfinite(self.detectable_difference) and self.sequence is None:
            text += f" A true difference of {self.detectable_difference:.4f} would have been found four times in five."
        return text

    def __str__(self) -> str:
        sure = f"{100 * (1 - self.interval_level):.6g} %"
        unit = "" if self.n_groups is None else f", in {self.n_groups:,} groups"
        missing = f", {self.n_missing:,} without an answer of both left out" if self.n_missing else ""
        if self.n_waiting:
            missing += f"; the last {self.n_waiting:,} wait for the rest of their group"
        parts = "only {} right: {:,}" if self.binary else "{} higher: {:,}"
        sides = [parts.format(name, n) for name, n in ((self.first, self.first_only), (self.second, self.second_only))]
        seen = f"{self.detectable_difference:.4f}   (true difference, found four times in five; one look)"
        lines = [
            *textwrap.wrap(self.sentence(), TERMINAL),
            "",
            f"difference            {self.difference:+.4f}   ({self._interval_text(sure)})",
            f"p                     {p_text(self.log_p_value)}   ({self.test})",
        ]
        if self.n_pairs > 1:
            lines.append(f"p, Holm               {p_text(self.adjusted_log_p)}   ({self.n_pairs:,} pairs)")
        lines += [
            f"examples              {self.n_examples:,}{unit}{missing}",
            f"they part on          {self.n_discordant:,}   ({sides[0]}; {sides[1]})",
            f"could have been seen  {self.never or seen}",
        ]
        if self.sequence is not None:
            lines.append(self._sequence_line())
        for better, rows in ((self.first, self._rows(True)), (self.second, self._rows(False))):
            if rows:
                lines += ["", f"{'only ' + better + ' is right' if self.binary else better + ' scores higher'}:"]
                lines += [f"  {parted_text(row, binary=self.binary)}" for row in rows[:SHOWN]]
                n = self.first_only if better == self.first else self.second_only
                lines += [f"  ... and {n - SHOWN:,} more"] if n > SHOWN else []
        return "\n".join([*lines, "", *textwrap.wrap(f"Null: {self.null}", TERMINAL)])

    def _interval_text(self, sure: str) -> str:
        low, high = self.interval
        if math.isnan(low):
            return "no interval: it moved with the order"
        return f"{sure}: {low:+.4f} to {high:+.4f}{'' if self.sequence is None else ', at every look at once'}"

    def _sequence_line(self) -> str:
        assert self.sequence is not None
        first = self.sequence.first
        seen = f"after {int(self.sequence.looks[-1]):,} {self.unit} not yet" if first is None else f"after {first:,}"
        return f"0 was outside         {seen}   ({self.unit} in the order of the file)"

    def _rows(self, first: bool) -> list[Parted]:
        return [row for row in self.parted if (row.first > row.second) == first]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON; an undefined number is None."""
        return {
            "first": self.first,
            "second": self.second,
            "score_first": self.score_first,
            "score_second": self.score_second,
            "difference": self.difference,
            "p_value": self.p_value,
            "log_p_value": self.log_p_value,
            "adjusted_p_value": self.adjusted_p_value,
            "n_pairs": self.n_pairs,
            "interval": [_plain(end) for end in self.interval],
            "level": self.level,
            "interval_level": self.interval_level,
            "n_examples": self.n_examples,
            "n_groups": self.n_groups,
            "n_missing": self.n_missing,
            "n_waiting": self.n_waiting,
            "n_discordant": self.n_discordant,
            "first_only": self.first_only,
            "second_only": self.second_only,
            "detectable_difference": _plain(self.detectable_difference),
            "verdict": self.verdict,
            "better": self.better,
            "test": self.test,
            "null": self.null,
            "sequence": None if self.sequence is None else _sequence_dict(self.sequence),
            "examples": [row.to_dict() for row in self.parted],
            "source": self.source,
            "data_digest": self.data_digest,
            "version": self.version,
        }

    def save(self, path: str | Path) -> None:
        """Write `path`.npz (everything) and `path`.json (what `to_dict` gives)."""
        _save(path, (self,), (), self.to_dict())

    @classmethod
    def load(cls, path: str | Path) -> CompareResult:
        """Read what `save` wrote."""
        pairs = CompareAllResult.load(path).pairs
        if len(pairs) != 1:
            raise InputError(f"{path} holds {len(pairs):,} comparisons; CompareAllResult.load reads them.")
        return pairs[0]


@dataclass(frozen=True, kw_only=True, eq=False)
class CompareAllResult:
    """Several pairs at once, their p-values adjusted by Holm, their intervals held at once (Bonferroni).

    `skipped` has the names of pairs that share too little: fewer than two examples, or only one group.
    """

    pairs: tuple[CompareResult, ...]
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def n_told_apart(self) -> int:
        """Pairs of which one is better, family-wise."""
        return sum(pair.better is not None for pair in self.pairs)

    def __getitem__(self, index: int) -> CompareResult:
        return self.pairs[index]

    def __len__(self) -> int:
        return len(self.pairs)

    def ordered(self) -> list[CompareResult]:
        """Smallest p first."""
        return sorted(self.pairs, key=lambda pair: pair.log_p_value)

    def sentence(self) -> str:
        """The answer."""
        level = self.pairs[0].level
        text = (
            f"{self.n_told_apart:,} of {len(self.pairs):,} pairs are told apart at level {level:g}, family-wise (Holm)."
        )
        if not self.skipped:
            return text
        some = "; ".join(f"{a} and {b}" for a, b in self.skipped[:SHOWN])
        more = f"; and {len(self.skipped) - SHOWN:,} more" if len(self.skipped) > SHOWN else ""
        what = "two examples" if self.pairs[0].n_groups is None else "two groups"
        return f"{text} {len(self.skipped):,} left out, which do not share {what}: {some}{more}."

    def __str__(self) -> str:
        one = self.pairs[0]
        sure = f"{100 * (1 - one.level):.6g} %"
        lines = [
            *textwrap.wrap(self.sentence(), TERMINAL),
            "",
            f"{'first':22s} {'second':22s} {'difference':>10s}  {f'{sure}, all at once':20s} {'p, Holm':>8s} "
            f"{'parts':>7s}  better",
        ]
        for pair in self.ordered()[:PAIRS_SHOWN]:
            low, high = pair.interval
            lines.append(
                f"{_cut(pair.first, 22):22s} {_cut(pair.second, 22):22s} {pair.difference:+10.4f}  "
                f"{f'{low:+.4f} to {high:+.4f}':20s} {p_text(pair.adjusted_log_p):>8s} {pair.n_discordant:7,}  "
                f"{_cut(pair.better or '-', 22)}"
            )
        if len(self.pairs) > PAIRS_SHOWN:
            lines.append(f"... and {len(self.pairs) - PAIRS_SHOWN:,} pairs with larger p; --json has all")
        rests = f"{one.test}. Holm finds a little more than intervals that hold at once. Null: {one.null}"
        return "\n".join([*lines, "", *textwrap.wrap(rests, TERMINAL)])

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON; pairs in the order given, without their lists of examples."""
        one = self.pairs[0]
        return {
            "n_pairs": len(self.pairs),
            "n_told_apart": self.n_told_apart,
            "level": one.level,
            "adjusted": "holm",
            "skipped": [list(names) for names in self.skipped],
            "pairs": [{k: v for k, v in pair.to_dict().items() if k not in _SHARED} for pair in self.pairs],
            **{name: getattr(one, name) for name in ("null", "source", "data_digest", "version")},
        }

    def save(self, path: str | Path) -> None:
        """Write `path`.npz (everything) and `path`.json (what `to_dict` gives)."""
        _save(path, self.pairs, self.skipped, self.to_dict())

    @classmethod
    def load(cls, path: str | Path) -> CompareAllResult:
        """Read what `save` wrote."""
        record, arrays = read_result(path)
        try:
            pairs = []
            for i, kept in enumerate(record["pairs"]):
                sequence = kept.pop("sequence", None)
                if sequence is not None:
                    sequence |= {name: arrays[f"{name}_{i}"] for name in ("looks", "means", "low", "high")}
                    sequence = ConfidenceSequence(**sequence)
                kept["interval"] = tuple(kept["interval"])
                kept["parted"] = tuple(Parted(**row) for row in kept["parted"])
                discordant = arrays.get("discordant", np.zeros(0, dtype=np.int64))
                pairs.append(CompareResult(**kept, sequence=sequence, discordant=discordant))
            return cls(pairs=tuple(pairs), skipped=tuple((a, b) for a, b in record["skipped"]))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path} is not a saved comparison: {error!r}.") from error


def _save(
    path: str | Path, pairs: tuple[CompareResult, ...], skipped: tuple[tuple[str, str], ...], plain: dict[str, Any]
) -> None:
    records: list[dict[str, Any]] = []
    arrays: dict[str, NDArray[Any]] = {}
    for i, pair in enumerate(pairs):
        record = {k: v for k, v in vars(pair).items() if k not in ("discordant", "sequence", "parted")}
        record["parted"] = [vars(row) for row in pair.parted]
        if (s := pair.sequence) is not None:
            record["sequence"] = {k: getattr(s, k) for k in ("log_p_value", "first", "level", "upward")}
            arrays |= {f"{name}_{i}": getattr(s, name) for name in ("looks", "means", "low", "high")}
        if len(pairs) == 1:
            arrays["discordant"] = pair.discordant
        records.append(record)
    write_result(path, plain=plain, record={"pairs": records, "skipped": skipped}, arrays=arrays)


_SHARED = ("null", "source", "data_digest", "version", "examples", "sequence")


def p_text(log_p: float) -> str:
    """A p-value from its logarithm.

    Examples
    --------
    >>> p_text(math.log(0.0312)), p_text(-5000.0), p_text(0.0)
    ('0.031', '3e-2172', '1')
    """
    if log_p > math.log(1e-4):
        return f"{math.exp(log_p):.2g}"
    exponent = math.floor(log_p / math.log(10))
    digit = round(math.exp(log_p - exponent * math.log(10)))
    return f"{digit}e{exponent}" if digit < 10 else f"1e{exponent + 1}"


def parted_text(row: Parted, *, binary: bool) -> str:
    """One example in a line."""
    parts = [row.id if row.id is not None else f"example {row.position}"]
    if not binary:
        parts.append(f"{row.first:.3g} against {row.second:.3g}")
    if row.label is not None:
        parts.append(f"label {row.label}, answers {row.first_answer} and {row.second_answer}")
    if row.text is not None:
        parts.append(row.text)
    return _cut(": ".join([parts[0], "; ".join(parts[1:])]) if parts[1:] else parts[0], TERMINAL - 2)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _sequence_dict(s: ConfidenceSequence) -> dict[str, Any]:
    return {
        "looks": s.looks.tolist(),
        "means": s.means.tolist(),
        "low": s.low.tolist(),
        "high": s.high.tolist(),
        "first_look_without_zero": s.first,
        "level": s.level,
    }
