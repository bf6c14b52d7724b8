"""The page of a budget answers first, holds every number, loads nothing, and cannot be broken out of."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from heldout.pages import budget_html, write_budget_report
from heldout.pages.budget.words import equal_curves, pairs_text
from heldout.pages.numbers import bar_text, count_words, exact_text, fixed
from heldout.reuse.result import BudgetResult
from heldout.reuse.theorems import corollary4
from tests.report.budget.conftest import HOSTILE, correct
from tests.report.pages import check_drawings, check_self_contained, plain_spaces, words

EXAMPLE = Path(__file__).parents[3] / "examples" / "cifar10_predictions.npz"


def box(html: str) -> str:
    """The words of the answer."""
    return words(html[html.index("<main>") : html.index("</section>")].replace("<main>", "") + "</section>")


def test_self_contained(result: BudgetResult) -> None:
    html = budget_html(result, command="heldout budget predictions.npz")
    check_self_contained(html)
    check_drawings(html)
    text = words(html)
    assert " nan" not in text.lower()
    assert "None" not in re.sub(r"None of the", "", text)
    assert not re.search(r"\d %", html)  # a number and its sign stay on one line


def test_answer_first(result: BudgetResult) -> None:
    html = budget_html(result)
    page = check_self_contained(html)
    answer = box(html)
    room = result.further_models
    fit = result.testable.union if result.testable.similarity is None else result.testable.similarity
    if fit == 0:
        assert page.headings[0].startswith("Not even one model fits at")
    elif room == 0:
        assert page.headings[0].startswith("No room for more models at")
    else:
        assert f"Room for {count_words(room)} " in page.headings[0] + " "
    for key, value in result.further.items():
        shown = "no bound" if value is None else count_words(value)
        name = {"union": "Union bound", "similarity": "Similarity bound", "naive_bayes": "Naive Bayes"}[key]
        if result.testable.union == result.testable.similarity and key != "naive_bayes":
            name = "Union and similarity bound"
        chosen = "union" if result.testable.similarity is None else "similarity"
        assert f"{name}{': the answer' if key == chosen or name.startswith('Union and') else ''}{shown}" in answer
    if result.pool is not None:
        for value in result.pool.epsilon.values():
            assert plain_spaces(bar_text(value, full=True)) in answer
        assert ("both models" if result.n_models == 2 else f"all {result.n_models:,} models") in answer
    assert page.headings[1:4] == ["What this means", "What it does not mean", "What to do next"]


def test_says_what_it_rests_on(result: BudgetResult) -> None:
    text = words(budget_html(result))
    start, end = text.index("What it does not mean"), text.index("What to do next")
    limits = text[start:end]
    assert "It does not cover models chosen by looking at this test set" in limits
    assert "error and similarity are plugged in" in limits
    assert "is no ranking" in limits
    assert ("Assumption A1" in limits) == bool(result.testable.naive_bayes)
    if result.testable.reason is not None:
        assert plain_spaces(result.testable.reason)[1:] in text  # may begin a sentence
    if result.pool is not None:
        s = result.pool.similarity
        below = f"{s.below_chance:,} of {pairs_text(s.n_pairs)} (" if s.n_pairs > 1 else "The two models are wrong"
        assert (below in limits) == (s.below_chance > 0)
        assert (f"{result.pool.n_missing:,} of {s.n_models * s.n_examples:,} answers" in limits) == (
            result.pool.n_missing > 0
        )


def test_every_number(result: BudgetResult) -> None:
    text = words(budget_html(result, command="heldout budget a.npz --epsilon 0.01"))
    t = result.testable
    expected = [
        exact_text(t.union), exact_text(t.similarity), exact_text(t.naive_bayes), fixed(result.mean_error),
        fixed(result.mean_similarity), fixed(result.independent_similarity), f"{result.n_examples:,} examples",
        f"epsilon = {result.epsilon:g}", f"delta = {result.delta:g}", result.version, "arXiv:1905.12580",
        "heldout budget a.npz --epsilon 0.01", "Every bound",
    ]  # fmt: skip
    if result.pool is not None:
        adaptive = corollary4(result.n_examples, result.pool.similarity.n_models, alpha=0.0, delta=result.delta)[0]
        expected += [
            *(exact_text(v) for v in result.further.values()), str(result.data_digest),
            *(plain_spaces(bar_text(v, full=True)) for v in result.pool.epsilon.values()),
            plain_spaces(bar_text(adaptive, full=True)) if adaptive < 1 else "nothing at all",
            "That cannot be read off the models seen",
        ]  # fmt: skip
        if not math.isnan(result.pool.theorem2["epsilon"]):
            expected.append(plain_spaces(bar_text(result.pool.theorem2["epsilon"], full=True)))
    assert not [x for x in expected if x not in text]


def test_sections(result: BudgetResult) -> None:
    headings = check_self_contained(budget_html(result)).headings
    assert ("The leaderboard, with error bars that hold for all at once" in headings) == (result.pool is not None)
    assert ("How alike the models are" in headings) == (result.pool is not None)
    assert ("Not computed without predictions" in headings) == (result.pool is None)
    assert ("What the budget depends on" in headings) == (equal_curves(result) is not None)
    assert "Every bound" in headings


def test_four_numbers_say_what_is_lacking(four_numbers: BudgetResult) -> None:
    text = words(budget_html(four_numbers))
    assert "Room for 1.06 million models" in text
    assert "1,062,137" in text
    assert "251,165" in text
    assert "4.23 times as many" in text
    lacking = text[text.index("Not computed without predictions") :]
    for part in ("Leaderboard", "Similarity of every pair", "Covering curve", "Difficulty"):
        assert part in lacking
    assert "more models" not in box(budget_html(four_numbers))


def test_leaderboard(similar: BudgetResult) -> None:
    html = budget_html(similar)
    pool = similar.pool
    assert pool is not None
    assert pool.ranks is not None
    rows = re.findall(r'<tr class="(?:shade|plain).*?</tr>', html, flags=re.S)
    assert len(rows) == 12
    for place, (row, i) in enumerate(zip(rows, pool.order.tolist(), strict=True)):
        cells = unescape(row)
        best, worst = pool.ranks[i]
        assert f'rank">{best}</td>' in cells if best == worst else f'rank">{best}–{worst}</td>' in cells
        assert pool.similarity.names[i] in cells
        assert f">{100 * pool.similarity.errors[i]:.1f}<" in cells
        assert f"{100 * pool.low[i]:.1f} to {100 * pool.high[i]:.1f}" in cells
        if place < 11:
            assert (f">{'>'}<" in cells) == pool.neighbours[place].survives
    starts = [i for i, row in enumerate(rows) if " cut" in row.split(">")[0]]
    sizes = np.cumsum([len(group) for group in pool.groups]).tolist()
    assert starts == sizes[:-1]  # a line where a new band begins
    assert {c.survives for c in pool.neighbours} == {True, False}  # or the test shows nothing


def test_large_pool(large: BudgetResult) -> None:
    html = budget_html(large)
    rows = re.findall(r'<tr class="(?:shade|plain).*?</tr>', html, flags=re.S)
    assert len(rows) == 50
    text = words(html)
    assert "The other 180 models are in the saved result" in text
    assert "put together in 100 blocks" in text
    assert "<summary>20 more" in html
    assert len(html) < 400_000


def test_ranks_left_out(large: BudgetResult) -> None:
    """Very large pools have no rank ranges: the place stands there, and the page says so."""
    assert large.pool is not None
    text = words(budget_html(replace(large, pool=replace(large.pool, ranks=None))))
    assert "Rank ranges: the pool is too large to compare every pair" in text
    assert "Place" in text
    assert "Rank :" not in text


def test_nothing_fits(too_few: BudgetResult, full: BudgetResult) -> None:
    assert too_few.pool is not None
    bar = plain_spaces(bar_text(too_few.pool.epsilon["similarity"], full=True))
    text = words(budget_html(too_few))
    assert "cannot keep even a single model’s measured error" in text
    assert f"What does hold for all 5 models at once is {bar}" in text
    assert "no model of the mean error fits, however similar the models are" in text
    assert (
        "Even one model of the mean error alone, picked before any data were seen, needs a wider error bar: about ±"
        in text
    )
    assert full.further_models == 0
    text = words(budget_html(full))
    fit = full.testable.similarity
    assert fit is not None
    assert 0 < fit < 40
    assert "there are 40 already" in text
    assert f"{fit} would fit in all" in text
    assert "Ask for less or collect more" in text
    assert "Room for" not in text


def test_like_these_and_were_all_equal(pool_result: BudgetResult) -> None:
    """Both counts stand in the table, each under its name; the curves show the equal ones and say so."""
    html = budget_html(pool_result)
    table = html[html.index('aria-label="All bounds"') :]
    table = table[: table.index("</table>")]
    head, *rows = (plain_spaces(re.sub("<.*?>", " ", row, flags=re.S)) for row in table.split("</tr>")[:4])
    assert head.index("Models like these") < head.index("Were all equal (paper’s plug-in)")
    equal = pool_result.equal
    for row, key in zip(rows, ("union", "similarity", "naive_bayes"), strict=True):
        like = exact_text(getattr(pool_result.testable, key))
        were = exact_text(None if equal is None else getattr(equal, key))
        assert row.index(like) < row.rindex(were)
    text = words(html)
    if "What the budget depends on" in text:
        assert "if all models had the mean error" in text
        assert equal is not None
        label = unescape(re.findall(r'aria-label="(Models that fit against the width[^"]*)"', html)[0])
        assert label.endswith(f"Union bound {count_words(equal.union)}; " + "; ".join(
            f"{name} {count_words(count)}"
            for name, count in (("Similarity bound", equal.similarity), ("Naive Bayes", equal.naive_bayes))
        ))  # fmt: skip
    else:
        assert "Curves against similarity and error bar" in text[text.index("Not computed") :]


def test_unequal_models(similar: BudgetResult) -> None:
    """What the mean would promise is told, and that it is not the answer."""
    equal = similar.equal
    assert equal is not None
    assert equal.similarity is not None
    assert equal.similarity > 1.5 * similar.fitting_models  # or the test shows nothing
    text = words(budget_html(similar))
    assert f"{count_words(similar.fitting_models)} like these fit in all" in text
    assert f"as the paper assumes, it would be {count_words(equal.similarity)}" in text


def test_advice_for_ci(pool_result: BudgetResult) -> None:
    found = re.search(r"--epsilon (\S+) --delta (\S+) --fail-under (\d+)", words(budget_html(pool_result)))
    assert (found is not None) == (pool_result.further_models > 0)
    if found is not None:
        assert (float(found[1]), float(found[2])) == (pool_result.epsilon, pool_result.delta)
        assert 0 < int(found[3]) <= pool_result.further_models


def test_only_naive_bayes_is_lacking(masked: BudgetResult, no_coupling: BudgetResult) -> None:
    assert masked.testable.similarity is not None
    text = words(budget_html(masked))
    assert f"There is no Naive Bayes number: {masked.testable.reason}." in text
    assert "only the union bound applies" not in text.lower()
    assert "only the union bound applies" in words(budget_html(no_coupling)).lower()


def test_turned_round(turned: BudgetResult, similar: BudgetResult) -> None:
    """Missing answers put the worse of two models first: the page says so."""
    assert turned.pool is not None
    assert turned.pool.neighbours[0].contradicted  # or the test shows nothing
    html = budget_html(turned)
    text = words(html)
    assert "on the examples that both models have, the lower one is significantly better" in text
    assert ">&lt;<" in html
    assert "< where it is significantly worse" in text
    assert "significantly worse" not in words(budget_html(similar))


def test_examples_in_groups(grouped: BudgetResult, similar: BudgetResult) -> None:
    """The page says what the numbers then rest on, and shows no bound that is for independent examples."""
    html = budget_html(grouped)
    check_self_contained(html)
    text = words(html)
    assert grouped.pool is not None
    groups = grouped.pool.example_groups
    assert groups is not None
    assert "in 20 groups of 5 to 24 examples" in text
    assert f"The design effect is {groups.median_effect:.2f} (median over models; at most" in text
    assert "20 groups are few: below 30 that law is rough" in text
    assert "Korn–Graubard" in text
    assert "for independent groups" in text
    assert "exact sign test" not in text
    assert "Corollary 4" not in text
    assert "Similarity union bound (3)" not in text
    assert "for independent examples" in words(budget_html(similar))
    answer = box(html)
    assert f"Room for {grouped.further_models} more" in answer
    assert plain_spaces(bar_text(grouped.pool.epsilon["union"], full=True)) in answer
    assert "Similarity bound" not in answer
    assert "Were all equal: not defined, since the paper’s bounds are for independent examples" in text
    assert re.search(r"--fail-under \d+ --groups SPEC", text)
    assert not re.search(r"\b(real|surely|clearly)\b", text)


def test_no_claim_of_truth(result: BudgetResult) -> None:
    assert not re.search(r"\b(real|surely|clearly)\b", words(budget_html(result)))


def test_assumption_a1_that_does_not_fit(families: BudgetResult, full: BudgetResult) -> None:
    text = words(budget_html(families))
    assert "Assumption A1 does not fit these models" in text
    assert "It does not fit: in 28 of 28 pairs" in text
    assert "by A1" in text
    assert full.pool is not None
    assert full.pool.assumption is not None
    assert full.pool.assumption.fits
    assert "does not fit" not in words(budget_html(full))


def test_models_that_never_err(flawless: BudgetResult, misfit: BudgetResult) -> None:
    text = words(budget_html(flawless))
    assert "Every model is right on every example: the set is too easy" in text
    assert "100.0 % by chance" not in text
    assert "Were all equal: not defined, since the mean error is 0" in text
    assert "do not fit together" in words(budget_html(misfit))


def test_no_ties_by_decree(result: BudgetResult) -> None:
    """Being told apart is not transitive, and sets measure models, they do not rank them."""
    text = words(budget_html(result)).lower()
    assert "tied" not in text
    assert not re.search(r"\brank \S+ (more )?models", text)
    assert not re.search(r"±[\d.]+ %", text)  # an error bar is in points


def test_long_names_are_shortened() -> None:
    from heldout.predictions import Predictions
    from heldout.reuse.budget import budget

    longest = ["x" * 200 + letter * 200 for letter in "abc"]
    html = budget_html(budget(Predictions.from_correct(correct(3, 400, 8), names=longest), epsilon=0.1))
    assert f'title="{longest[0]}"' in html
    assert "x" * 60 not in words(html)


def test_large_maps_are_square_on_a_desk(full: BudgetResult) -> None:
    html = budget_html(full)
    desk, phone = (html[html.index(f'class="{name}"') :] for name in ("desk", "phone"))
    (across, down), (narrow, high) = (
        re.findall(r'class="cells" transform="translate\(\S+ 4\) scale\((\S+) (\S+)\)"', part)[0]
        for part in (desk, phone)
    )
    assert across == down
    assert float(narrow) < float(high)


def test_no_example_is_common_to_all() -> None:
    from heldout.predictions import Predictions
    from heldout.reuse.budget import budget

    right = np.random.default_rng(0).random((3, 90)) < 0.7
    observed = np.ones((3, 90), bool)
    for i in range(3):
        observed[i, 30 * i : 30 * i + 30] = False
    text = words(budget_html(budget(Predictions.from_correct(right, observed=observed), epsilon=0.2)))
    assert "Difficulty of the examples: none was answered by every model" in text
    assert "Not computed" in text


def test_few_pairs_are_listed(opposed: BudgetResult, too_few: BudgetResult) -> None:
    """No histogram of one pair; and a cover of two models is no curve."""
    html = budget_html(opposed)
    assert ">0.550</td>" in html
    assert ">0.650</td>" in html
    assert "pairs of models</text>" not in html
    text = words(html)
    assert "Covering curve: it takes all models at every similarity" in text
    assert "1 pairs" not in text
    assert "all 2" not in text
    assert len(re.findall(r"<tr><th scope=\"row\">model_", budget_html(too_few))) == 10


def test_hostile_names(hostile: BudgetResult, tmp_path: Path) -> None:
    path = write_budget_report(hostile, tmp_path / "new", command=f"heldout {HOSTILE}")
    assert path == tmp_path / "new" / "report.html"
    html = path.read_text(encoding="utf-8")
    assert "<script" not in html.lower()
    assert "<img" not in html
    assert HOSTILE in words(html)
    check_self_contained(html)


@pytest.mark.parametrize("name", ["similar", "masked", "four_numbers", "no_coupling"])
def test_same_result_same_bytes(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    result: BudgetResult = request.getfixturevalue(name)
    before = json.dumps(result.to_dict())
    result.save(tmp_path / "result")
    assert budget_html(BudgetResult.load(tmp_path / "result")) == budget_html(result)
    assert json.dumps(result.to_dict()) == before


def test_past_counting(four_numbers: BudgetResult) -> None:
    """10^18 means "at least": the page must not print it as a count."""
    many = replace(four_numbers.testable, naive_bayes=10**18)
    text = words(budget_html(replace(four_numbers, testable=many)))
    assert "over 10¹⁸" in text
    assert "10¹⁸ or more" in text
    assert "1,000,000,000,000" not in text


def test_cifar10() -> None:
    """The pool in examples/: the answer, a tie at the top, and what Assumption A1 gets wrong."""
    from heldout.predictions import Predictions
    from heldout.reuse.budget import budget

    result = budget(Predictions.load(EXAMPLE))
    html = budget_html(result)
    text = words(html)
    assert result.n_models == 30
    assert f"Room for {result.further_models} more models" in text
    assert "cifar10_predictions.npz: 30 models on 10,000 examples" in text
    assert "shake_shake_26_2x64d_SSI_cutout16" in text
    assert "mean 0.919" in text  # similarity
    assert "mean 0.871" in text  # by chance
    assert "65.1 % of the examples are right for all 30 models" in text
    assert len(html) < 300_000


def test_who_may_be_first_and_what_is_needed(similar: BudgetResult, four_numbers: BudgetResult) -> None:
    text = words(budget_html(similar))
    assert similar.pool is not None
    winner, first = similar.pool.winner, similar.pool.names(similar.pool.top[1])
    assert "Who may be first" in text
    assert f"May be first{len(first)}: {first[0]}" in text
    assert f"drops by {100 * winner.expected_drop:.2f} points on average" in text
    assert "How many examples are needed" in text
    assert f"{similar.needed.examples_for_epsilon:,} examples" in text
    assert f"{similar.needed.examples_for_gap:,} examples" in text
    text = words(budget_html(four_numbers))
    assert f"{four_numbers.needed.examples_for_gap:,} examples" in text
    assert "May be first" not in text


def test_no_room_comes_with_a_way_forward(too_few: BudgetResult) -> None:
    assert too_few.fitting_models == 0
    enough = f"{too_few.needed.examples_for_epsilon:,} examples would do for all 5 models"
    assert enough in box(budget_html(too_few))
    assert enough in words(budget_html(too_few)).split("What to do next")[1]
