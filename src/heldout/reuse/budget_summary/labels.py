"""What wrong labels would do to the leaderboard and the budget."""

from __future__ import annotations

from collections.abc import Iterator

from heldout import summary as page
from heldout.reuse.label_noise import LabelNoise, SecondLabels
from heldout.reuse.result import PoolResult

Rows = tuple[tuple[str, str], ...]

SHOWN = 50  # models


def sections(pool: PoolResult) -> Iterator[page.Section]:
    """In all, and model by model; nothing where it was not asked for."""
    noise, second, s = pool.label_noise, pool.second_labels, pool.similarity
    columns = {
        "Model": [page.Cell(text=page.name_text(name), hover=name) for name in pool.names],
        f"Error,{page.PERCENT}": _percents(s.errors.tolist()),
    }
    if noise is None and second is None:
        return
    if noise is not None:
        told = page.Table.of(
            f"If {100 * noise.share:g}{page.PERCENT} of the labels ({noise.n_wrong:,}) are wrong",
            ("", "As measured", "At random", "Worst case"),
            _moved(noise),
        )
        yield page.Section.of("If labels are wrong", told, page.Facts(_noise(noise)), printed=True)
        columns["True error, at random"] = _percents(noise.true_errors)
    if second is not None:
        yield page.Section.of("By the second labels", page.Facts(_second(second)), printed=True)
        columns["Error, second labels"] = _percents(second.second_errors)
        columns |= {"Place": [*map(str, second.ranks)], "Place, second labels": [*map(str, second.second_ranks)]}
    rows = list(zip(*columns.values(), strict=True))
    table = page.Table.of(
        "With wrong labels taken off, or by both sets of labels",
        tuple(columns),
        [rows[i] for i in pool.order[:SHOWN].tolist()],
        more=max(0, s.n_models - SHOWN),
    )
    note = (
        "At random: which labels are wrong has nothing to do with the models, and a wrong label is any of the other "
        "classes; an error below 0 is one of fewer errors than wrong labels. The worst case puts them where they do "
        "most harm to each statement."
    )
    yield page.Section.of("Model by model", table, page.Note(note), level=3)


def _percents(errors: list[float] | tuple[float, ...]) -> list[str | page.Cell]:
    return [page.fixed(100 * error, 2) for error in errors]


def _moved(noise: LabelNoise) -> Iterator[tuple[str, ...]]:
    """Error bar, budget and comparisons: as measured, at random, in the worst case."""
    bars = (noise.error_bar, noise.error_bar_random, noise.error_bar_worst)
    models = (noise.models, noise.models_random, noise.models_worst)
    yield "Error bar for all", *(f"±{bar:.5f}" for bar in bars)
    yield f"Models that fit at ±{noise.epsilon:g}", *(page.exact_text(count) for count in models)
    if noise.n_significant is not None:
        yield "Pairs told apart", f"{noise.n_significant:,}", "–", f"{noise.n_significant_worst:,}"


def _noise(noise: LabelNoise) -> Rows:
    few = f"{page.names_text(noise.too_good)}; there, labels are not wrong at random, or fewer are"
    return page.kept_facts(
        ("True errors, at random", f"(error - {noise.share:g}) / {noise.factor:.4g}: the order stays"),
        ("Differences, at random", f"{1 / noise.factor:.3g} times as large"),
        ("First keeps its lead below", f"{page.share_text(noise.first_safe_below)} of wrong labels"),
        ("Fewer errors than wrong labels", few if noise.too_good else None),
    )


def _second(second: SecondLabels) -> Rows:
    change = [b - a for a, b in zip(second.errors, second.second_errors, strict=True)]
    moved = max(abs(a - b) for a, b in zip(second.ranks, second.second_ranks, strict=True))
    share, low, high = (page.percent(value, 2) for value in (second.share, second.low, second.high))
    differ = (
        f"{second.n_changed:,} of {second.n_examples:,}: {share}, {low} to {high} with {page.sure_text(second.level)}"
    )
    return (
        ("Second labels", second.source),
        ("Labels that differ", differ),
        ("Errors change by", f"{min(change):+.4f} to {max(change):+.4f}"),
        ("Places change by, at most", f"{moved} (Kendall’s tau {page.fixed(second.kendall, 3)})"),
        ("Pairs told apart", f"{second.n_significant:,} by the first labels, {second.n_second:,} by the second"),
        ("By both", f"{second.n_both:,} the same way, {second.n_turned:,} the other way round"),
    )
