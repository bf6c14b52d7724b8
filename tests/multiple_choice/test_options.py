"""`heldout.options`: which models are found, what is kept, and what is told."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from heldout import InputError, options, read_items
from heldout.checkpoints import Checkpoint
from heldout.multiple_choice.asking import TOGETHER, prepare
from heldout.multiple_choice.detectable import detectable_share, learnt
from heldout.multiple_choice.left_out.reasons import REASONS
from heldout.multiple_choice.logs import joined
from heldout.multiple_choice.runs import Runs
from heldout.scorers.choices import Choice
from heldout.scorers.function_chooser import as_chooser
from heldout.statistics import arrangement_test, orbit_test
from heldout.statistics.memorised import order_weights
from tests.report.browser import needs_chromium
from tests.report.summaries import check_fits_a_phone, check_renderings, check_renders_alone

TREES = ("oak", "ash", "elm", "fir", "yew", "box")


def unit(*parts) -> float:
    """A number in [0, 1) that depends on nothing but these."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:6], "big") / 2**48


def benchmark(n=200, k=4, seed=0, law=None):
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        shown = [f"{TREES[j]} {seed}/{i}" for j in rng.permutation(k)]
        rows.append({"id": f"q{i}", "question": f"Which tree is number {i}?", "options": shown,
                     "answer": int(rng.choice(k, p=law))})  # fmt: skip
    return rows


def model_of(rows, memorised=(), letters=(), bias=0.0, tells=True):
    """Right in a share of the orders that is an item's own; it may know some as printed, or by their letter."""
    printed = {row["question"]: (tuple(row["options"]), row["answer"]) for row in rows}

    def choose(question, shown):
        texts, answer = printed[question]
        right = shown.index(texts[answer])
        scores = [unit(question, text, shown) + bias * (place == len(shown) - 1) for place, text in enumerate(shown)]
        scores[right] += 1.5 * unit(question) - 0.4
        if question in memorised and shown == texts:
            scores[right] += 3
        if question in letters:
            scores[answer] += 3
        return np.array(scores) - np.logaddexp.reduce(scores) if tells else int(np.argmax(scores))

    return choose


def first(rows, count):
    return {row["question"] for row in rows[:count]}


def test_models_that_know_orders_or_letters_are_found_and_others_are_not():
    rows = benchmark()
    for memorised, letters in ((first(rows, 60), ()), ((), first(rows, 60))):
        found = options(rows, model_of(rows, memorised, letters), n_resamples=999)
        assert found.verdict == "depends on the printed order"
        assert found.p_value <= 0.002
        assert found.p_values.ranks <= 0.002
        assert found.errors_printed < found.errors_expected - 3 * found.errors_spread
    honest = options(rows, model_of(rows), n_resamples=999)
    assert honest.verdict == "no dependence found"
    assert 0 < honest.detectable < 0.3
    assert honest.n_orders == 24
    assert honest.n_answers == 200 * 24
    assert (honest.repeat_rate, honest.n_repeated, honest.unparsed) == (1.0, 50, 0)


def test_a_place_that_benchmark_and_model_share_alarms_the_poisson_binomial_test_alone():
    rows = benchmark(600, law=(0.1, 0.1, 0.2, 0.6))
    found = options(rows, model_of(rows, bias=0.7), n_resamples=999)
    assert found.p_values.poisson_binomial < 0.001
    assert found.verdict == "no dependence found"
    assert found.positions.p_value < 1e-6
    assert sum(found.positions.counts["4"]) == 600
    shuffled = options(rows, model_of(rows, bias=0.7), n_resamples=99, uniform=True)
    assert (shuffled.rests_on, shuffled.verdict) == ("poisson_binomial", "depends on the printed order")
    assert any("declared to be shuffled" in warning for warning in shuffled.summary().warnings)


def two_sources(n=300):
    """Hard items that all have their answer at the last place, which the model guesses, and easy ones."""
    hard, easy = benchmark(n, law=(0, 0, 0, 1)), benchmark(n, seed=1)
    for source, rows in (("hard", hard), ("easy", easy)):
        for row in rows:
            row |= {"id": f"{source} {row['id']}", "question": f"{source}: {row['question']}", "source": source}
    rows = [*hard, *easy]
    knows = {row["question"]: row["options"][row["answer"]] for row in easy}
    return rows, lambda question, shown: shown.index(knows[question]) if question in knows else len(shown) - 1


def test_sources_that_print_answers_at_other_places_are_strata(tmp_path):
    rows, model = two_sources()
    mixed = options(rows, model, n_resamples=199, orders="cyclic")
    assert mixed.p_value < 0.01  # which no model deserves that has seen nothing
    told = options(read_items(rows, strata_key="source"), model, n_resamples=199, orders="cyclic")
    assert (told.verdict, told.n_strata, mixed.n_strata) == ("no dependence found", 2, 1)
    for source in ("hard", "easy"):
        lines = [json.dumps({**row, "answer": "ABCD"[row["answer"]]}) for row in rows if row["source"] == source]
        (tmp_path / f"{source}.jsonl").write_text("\n".join(lines))
    files = options(tmp_path, model, n_resamples=199, orders="cyclic")
    assert (files.p_values, files.n_strata) == (told.p_values, 2)
    assert "of a stratum" in files.summary().closing[0]
    assert "of a stratum" not in mixed.summary().closing[0]


def test_a_model_that_likes_sorted_options_is_not_accused_alone():
    rows = [{**row, "options": sorted(row["options"])} for row in benchmark()]
    right = {row["question"]: row["options"][row["answer"]] for row in rows}

    def model(question, shown):
        sure = unit(question, shown) < (0.9 if list(shown) == sorted(shown) else 0.5)
        return shown.index(right[question]) if sure else (shown.index(right[question]) + 1) % len(shown)

    found = options(rows, model, n_resamples=199)
    assert found.verdict == "depends on the printed order"
    assert "The printed orders are not arbitrary" in found.to_dict()["reason"]
    told = found.summary()
    assert told.sentences[0].startswith("The printed orders are not arbitrary")
    (meant,) = (section for section in told.sections if section.title == "What it means")
    assert "cannot tell which" in str(meant)
    arbitrary = options(benchmark(), model_of(benchmark()), n_resamples=99)
    assert arbitrary.to_dict()["reason"] == ""


def desks(rng, n, *, one_list):
    """Stories and their desks: some desks are harder than others, and the model likes the first place, and some desks.

    The list of desks is printed in one order for all stories, or each story has an order of its own.
    """
    names = [f"{desk} desk" for desk in ("politics", "sports", "culture", "science")]
    order = rng.permutation(4)
    rows = []
    for i in range(n):
        order = order if one_list else rng.permutation(4)
        right = int(rng.choice(4, p=[0.1, 0.2, 0.3, 0.4]))
        shown = [f"{names[j]}{'' if one_list else f' {i}'}" for j in order]
        rows.append({"question": f"Story {i}?", "options": shown, "answer": int(np.flatnonzero(order == right)[0])})
    right = {row["question"]: row["options"][row["answer"]] for row in rows}
    liking, place, noise = rng.normal(0, 1, 4), rng.normal(0, 1, 4), rng.integers(1 << 30)

    def model(question, shown):
        scores = [
            liking[next(j for j in range(4) if text.startswith(names[j]))]
            + place[i]
            + 3 * unit(noise, question, text, shown)
            + (text == right[question])
            for i, text in enumerate(shown)
        ]
        return int(np.argmax(scores))

    return rows, model


def test_one_order_for_all_items_is_one_draw():
    """Items with one list of options are not told to depend on it: many of them would be, were they all tested."""
    rng, alarms = np.random.default_rng(2), 0
    for _ in range(20):
        rows, model = desks(rng, 300, one_list=True)
        with pytest.raises(InputError, match=r"nothing was asked|no two items can swap"):
            options(rows, model, orders="cyclic", n_resamples=19)
        kept = read_items(rows)
        ready = prepare(kept, as_chooser(model), orders="cyclic", shuffled=True)  # which they are not
        assert not ready.left
        at = ready.arranged
        choices = [model(one.question, one.options) for one in ready.shown]
        alarms += (
            arrangement_test(at.starts, at.positions, choices != at.positions, n_resamples=99, rng=rng).p_value <= 0.05
        )
    assert alarms >= 4  # which is why
    for _ in range(20):
        rows, model = desks(rng, 60, one_list=False)
        alarms -= options(rows, model, orders="cyclic", n_resamples=99).p_value <= 0.05
    assert alarms >= 2  # and orders of their own raise few


def test_which_test_is_the_verdict_does_not_depend_on_the_data():
    rows = benchmark(60)
    for uniform, basis in ((False, "conditional"), (True, "poisson_binomial")):
        for known in (0, 40):
            found = options(rows, model_of(rows, first(rows, known)), n_resamples=99, uniform=uniform)
            assert found.rests_on == basis
            assert found.p_value == getattr(found.p_values, basis)


def test_worse_as_printed_is_found_by_both_sides_only():
    rows = benchmark()
    printed = {row["question"]: tuple(row["options"]) for row in rows}
    honest = model_of(rows, tells=False)

    def spoiled(question, shown):
        return None if shown == printed[question] else honest(question, shown)

    one, two = (options(rows, spoiled, n_resamples=499, alternative=a) for a in ("overfitted", "two-sided"))
    assert (one.verdict, two.verdict) == ("no dependence found", "depends on the printed order")
    assert "does worse as printed" in " ".join(two.summary().sentences)
    assert one.unparsed == one.unparsed_printed == one.errors_printed == 200
    assert math.isnan(one.p_values.ranks)


def test_orders_items_and_what_is_left_out():
    rows = [*benchmark(30, k=3), *benchmark(20, k=6, seed=1)]
    rows += [{"id": f"n{i}", "question": f"How many {i}?", "options": ["3", "5", "8"], "answer": 0} for i in range(7)]
    rows += [{"id": "last", "question": "Which?", "options": ["oak", "elm", "all of the above"], "answer": 2}]
    for row in rows[30:50]:
        row["id"], row["question"] = f"six {row['id']}", f"Six: {row['question']}"
    model = model_of(rows)
    every = options(rows, model, n_resamples=99)
    assert every.left_out == {"numbers": 7, "references": 1}
    assert [one.id for one in every.left_out_items][-1] == "last"
    assert (every.n_given, every.n_items, every.kind) == (58, 50, "drawn")
    assert {one.n_orders for one in every.items} == {6, 9}
    cyclic = options(rows, model, orders="cyclic", n_resamples=99)
    assert ({one.n_orders for one in cyclic.items}, cyclic.kind) == ({3, 6}, "cyclic")
    some = options(rows, model, orders=3, n_items=20, n_resamples=99)
    assert ({one.n_orders for one in some.items}, some.n_items) == ({4}, 20)
    assert some == options(rows, model, orders=3, n_items=20, n_resamples=99)
    assert some != options(rows, model, orders=3, n_items=20, n_resamples=99, seed=1)
    more = options(rows, model, orders=3, n_items=49, n_resamples=99)  # a larger sample holds the smaller one
    assert {one.id for one in some.items} < {one.id for one in more.items} < {one.id for one in every.items}
    assert set(some.left_out_items) < set(more.left_out_items) <= set(every.left_out_items)
    turned = [
        {**row, "options": row["options"][::-1], "answer": len(row["options"]) - 1 - row["answer"]} for row in rows
    ]
    assert options(turned, model_of(turned), n_resamples=99).left_out == every.left_out


def test_answers_that_vary_are_counted():
    rows = benchmark(40)
    rng = np.random.default_rng(0)
    found = options(rows, lambda question, shown: "ABCD"[rng.integers(4)], orders=3, repeats=160, n_resamples=99)
    assert found.n_repeated == 160
    assert 0.1 < found.repeat_rate < 0.45
    assert options(rows, lambda question, shown: 0, repeats=0, orders=1, n_resamples=99).n_repeated == 0


def test_a_model_that_remembers_is_not_told_the_printed_order_first():
    """What it says to the first of an item's orders, it says to most: honest, and found where that is the printed."""
    rows = benchmark(80)
    answers = {row["question"]: row["options"][row["answer"]] for row in rows}
    said, printed_first = {}, 0

    def remembers(question, shown):
        nonlocal printed_first
        right = shown.index(answers[question])
        if question not in said:
            printed_first += list(shown) == next(row["options"] for row in rows if row["question"] == question)
            said[question] = right
            return right
        return right if unit(question, shown) < 0.4 else (right + 1) % 4

    result = options(rows, remembers, n_resamples=199, repeats=0)
    assert printed_first < 12  # of 80, one in 24 by chance
    assert result.errors_others > 0.5
    assert result.p_value > 0.01


@pytest.mark.parametrize(
    ("old", "warned"),
    [
        (lambda i: i % 24 < 5, True),  # the printed order and the first few, kept from a run with fewer orders
        (lambda i: unit(i) < 0.3, False),  # a run that was stopped
        (lambda i: True, False),
    ],
)
def test_answers_kept_from_an_earlier_day_are_told_where_they_are_those_to_printed_orders(old, warned):
    rows = benchmark(40)

    class Kept:
        name, costly, choose_one = "kept", True, staticmethod(model_of(rows))

        def choose(self, shown, tell=None):
            return [Choice(int(np.argmax(self.choose_one(one.question, one.options)))) for one in shown]

        def days(self, shown):
            return ["2026-03-01" if old(i) else "2026-05-09" for i in range(len(shown))]

        def digest(self):
            return "0"

    result = options(rows, Kept(), orders="all", n_resamples=99)
    assert result.differences == ({"date": ("2026-03-01", "2026-05-09")} if warned else {})


def test_a_stopped_run_goes_on_to_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.setattr("heldout.checkpoints.SECONDS", 0.0)
    rows = benchmark(40)
    model = model_of(rows)
    asked = []

    def stops(question, shown):
        asked.append((question, shown))
        if len(asked) == 10 * TOGETHER:
            raise KeyboardInterrupt
        return model(question, shown)

    with pytest.raises(KeyboardInterrupt):
        options(rows, stops, repeats=0, n_resamples=99, checkpoint=tmp_path)
    with pytest.raises(InputError, match="unfinished work"):
        options(rows, stops, repeats=0, n_resamples=99, checkpoint=tmp_path)
    resumed = options(rows, stops, repeats=0, n_resamples=99, checkpoint=tmp_path, resume=True)
    assert len(set(asked)) == resumed.n_answers
    assert len(asked) <= resumed.n_answers + TOGETHER
    assert resumed == options(rows, stops, repeats=0, n_resamples=99), "as if it had never been stopped"
    with pytest.raises(InputError, match="belongs to another run"):
        options(rows, stops, repeats=0, n_resamples=99, seed=1, orders=2, checkpoint=tmp_path, resume=True)
    assert Checkpoint(tmp_path / "none.npz", {}, of="run").load() is None


def test_another_function_does_not_go_on_with_the_answers_of_one(tmp_path, monkeypatch):
    """Lambdas all have one name; what they do tells them apart."""
    monkeypatch.setattr("heldout.checkpoints.SECONDS", 0.0)
    rows, met = benchmark(40), []

    def stops():
        met.append(None)
        if len(met) == 4 * TOGETHER:
            raise KeyboardInterrupt

    first, same, other = (
        (lambda _, shown: stops() or 0),
        (lambda _, shown: stops() or 0),
        (lambda _, shown: stops() or 2),
    )
    with pytest.raises(KeyboardInterrupt):
        options(rows, first, repeats=0, n_resamples=99, checkpoint=tmp_path)
    with pytest.raises(InputError, match="belongs to another run: model was"):
        options(rows, other, repeats=0, n_resamples=99, checkpoint=tmp_path, resume=True)
    resumed = options(rows, same, repeats=0, n_resamples=99, checkpoint=tmp_path, resume=True)
    assert resumed == options(rows, first, repeats=0, n_resamples=99)


def test_there_is_nothing_to_resume_without_a_checkpoint():
    with pytest.raises(InputError, match="`resume` goes on with what `checkpoint` names; give the folder"):
        options(benchmark(8), lambda question, shown: 0, n_resamples=99, resume=True)


class Batches:
    """Answers that depend, by rounding, on how many are computed together; memory runs out once."""

    name = "batches"

    def __init__(self, batch_size, *, stop=0, short=0):
        self.size, self.stop, self.short, self.met = batch_size, stop, short, []

    @property
    def batch_size(self):
        return self.size

    @batch_size.setter
    def batch_size(self, size):
        self.size = size

    def digest(self):
        return "0"

    def choose(self, shown, tell=None):
        self.met.append(len(shown))
        if len(self.met) == self.short:
            self.size //= 2
        if len(self.met) == self.stop:
            raise KeyboardInterrupt
        return [Choice(0, tuple(unit(one, i, self.size) for i in range(len(one.options)))) for one in shown]


def test_a_run_goes_on_with_the_batches_it_had(tmp_path, monkeypatch):
    monkeypatch.setattr("heldout.checkpoints.SECONDS", 0.0)
    given = {"repeats": 0, "n_resamples": 99}
    rows = benchmark(40)
    model = Batches(240, short=2)
    whole = options(rows, model, **given)
    assert model.met == [240] * 4
    with pytest.raises(KeyboardInterrupt):
        options(rows, Batches(240, short=2, stop=4), **given, checkpoint=tmp_path)
    with pytest.raises(InputError, match="batch_size was 240, is 96"):
        options(rows, Batches(96), **given, checkpoint=tmp_path, resume=True)
    again = Batches(240)
    assert options(rows, again, **given, checkpoint=tmp_path, resume=True) == whole
    assert (again.met, again.batch_size) == ([240], 120)
    assert whole.asked == {"batch_size": "120", "model_digest": "0"}
    assert ("Batch size", "120") in next(s for s in whole.summary().sections if s.title == "What was tested").blocks[
        0
    ].rows


class FixedBatches(Batches):
    """A size that cannot be set from outside."""

    batch_size = property(lambda self: self.size)


def test_a_batch_size_that_cannot_be_set(tmp_path, monkeypatch):
    """Nothing has to be set where it did not change; where it did, the answers would be others."""
    monkeypatch.setattr("heldout.checkpoints.SECONDS", 0.0)
    given, rows = {"repeats": 0, "n_resamples": 99}, benchmark(40)
    with pytest.raises(KeyboardInterrupt):
        options(rows, FixedBatches(240, stop=3), **given, checkpoint=tmp_path / "same")
    resumed = options(rows, FixedBatches(240), **given, checkpoint=tmp_path / "same", resume=True)
    assert resumed == options(rows, FixedBatches(240), **given)
    with pytest.raises(KeyboardInterrupt):
        options(rows, FixedBatches(240, short=2, stop=4), **given, checkpoint=tmp_path / "other")
    with pytest.raises(InputError, match=r"batches stopped with `batch_size` at 120, which is 240 now and cannot be"):
        options(rows, FixedBatches(240), **given, checkpoint=tmp_path / "other", resume=True)


def test_reasons_of_runs_are_told():
    named = {value for name, value in vars(joined).items() if name.isupper() and isinstance(value, str)} - {joined.DROP}
    assert named <= set(REASONS)
    runs = Runs.from_arrays(np.zeros((4, 3)), [0, 1, 2, 0], np.zeros((4, 3)), [1, 0, 2, 2])
    told = options(replace(runs, left_out={joined.NO_RUN: ("a", "b")})).summary()
    (section,) = (one for one in told.sections if one.title == "What was left out")
    assert REASONS[joined.NO_RUN] in repr(section)


def test_a_list_that_so_few_orders_do_not_allow():
    rows = benchmark(30)
    few, many = (options(rows, model_of(rows), orders=m, n_resamples=99) for m in (1, "all"))
    said = [one.summary().sections[1].blocks[0].text.replace("\N{NO-BREAK SPACE}", " ") for one in (few, many)]
    assert few.shortest_list == 0
    assert "With so few orders no list at 10 % is possible" in said[0]
    assert f"a list at 10 % has at least {many.shortest_list} items" in said[1]
    for one, text in zip((few, many), said, strict=True):
        assert f"as printed, alone: {one.n_first}, where chance gives about {one.first_expected:.0f}." in text


def test_nothing_is_asked_where_it_is_not_confirmed():
    rows, met = benchmark(20), []

    def refuse(shown):
        met.append(len(shown))
        raise InputError("too dear")

    with pytest.raises(InputError, match="too dear"):
        options(rows, lambda question, shown: met.append(0), orders=3, repeats=5, confirm=refuse)
    assert met == [20 * 4 + 5]


@pytest.mark.parametrize(
    "said", [[1.0, 3.0, 0.5, 2.0], [0.1, 0.2, 0.6, 0.1], np.array([0, 0, 1, 0]), [-1, -2, -3, np.inf]]
)
def test_numbers_above_0_are_no_log_probabilities(said):
    """Losses would choose the option that is least likely, in every order."""
    told = f"<lambda> returned .* of which {max(said):g} is above 0 and no log-probability; .*of losses the negative"
    with pytest.raises(InputError, match=told):
        options(benchmark(4), lambda question, shown: said)
    rows = benchmark(24)
    for said in ([0.0, -np.inf, -np.inf, -np.inf], [1e-6, -9, -9, -9], [0.0] * 4):
        assert options(rows, lambda question, shown, said=said: said, orders=3, n_resamples=99)


def test_functions_that_write():
    rows = benchmark(24)
    places = [options(rows, lambda question, shown, said=said: said, n_resamples=99)
              for said in ("B", "B.", "(b)", "The answer is B.", "**B**")]  # fmt: skip
    assert {one.unparsed for one in places} == {0}
    assert {one.errors_printed for one in places} == {places[0].errors_printed}


@pytest.mark.parametrize(("n", "told"), [(4, False), (12, True)])
@pytest.mark.parametrize("alternative", ["overfitted", "two-sided"])
def test_too_few_items_for_any_answers_to_tell(n, told, alternative):
    """Of two options half of the answers stand first: n choose n / 2 arrangements, the printed one the least likely."""
    rows = [{"question": f"{i}?", "options": [f"oak {i}", f"ash {i}"], "answer": i % 2} for i in range(n)]
    printed, turned = np.arange(n) % 2, 1 - np.arange(n) % 2
    scores = np.tile(np.log([0.6, 0.4]), (n, 1))
    runs = Runs.from_arrays(scores, printed, scores, turned)
    how = {"alternative": alternative, "n_resamples": 99}
    logged = options(runs, **how)
    assert logged.verdict == ("no dependence found" if told else "cannot tell")
    if told:
        assert options(rows, lambda question, shown: 0, **how).verdict == logged.verdict
        return
    with pytest.raises(InputError, match="nothing was asked: whatever the model answers, p is not below"):
        options(rows, lambda question, shown: pytest.fail("asked"), **how)
    least = 2 / 6 if alternative == "two-sided" else 1 / 6
    assert float(logged.ruling.reason.split("below ")[1].split(" ")[0]) == pytest.approx(least, abs=0.05)
    assert math.isnan(logged.p_value)
    assert math.isnan(logged.detectable)


def test_where_no_item_can_move_nothing_is_told():
    rows = [{**row, "answer": 0} for row in benchmark(30)]
    with pytest.raises(InputError, match="nothing was asked: no two items can swap"):
        options(rows, model_of(rows), orders="cyclic", n_resamples=99)
    scores = np.random.default_rng(0).normal(size=(2, 30, 4))
    found = options(Runs.from_arrays(scores[0], np.zeros(30, int), scores[1], np.ones(30, int)), n_resamples=99)
    assert (found.verdict, found.rests_on, math.isnan(found.p_value)) == ("cannot tell", "neither", True)
    assert "No two items can swap" in found.summary().sentences[0]
    same = options(benchmark(30), lambda question, shown: sorted(shown)[0], n_resamples=99)
    assert (same.verdict, same.p_value, same.errors_spread) == ("no dependence found", 1.0, 0.0)
    told = "Each item is right in all of its orders, or wrong in all of them."
    assert told in same.summary().sentences
    place = options(benchmark(30), lambda question, shown: 0, n_resamples=99)
    assert place.errors_spread < 1e-9
    assert told not in place.summary().sentences


def test_a_model_that_names_no_option_is_not_acquitted():
    rows = benchmark(40)
    knows = model_of(rows, tells=False)
    for share, verdict in ((1.0, "cannot tell"), (0.8, "cannot tell"), (0.3, "no dependence found")):

        def mumbles(question, shown, share=share):
            return None if unit("mute", question, shown) < share else knows(question, shown)

        found = options(rows, mumbles, n_resamples=99)
        assert found.verdict == verdict
        summary = found.summary()
        assert any("--max-tokens" in warning for warning in summary.warnings)
        claims = [sentence for sentence in summary.sentences if "memorised" in sentence]
        assert [("named an option" in claim) for claim in claims] == [True] * (verdict != "cannot tell")
        printed = [section.title for section in summary.sections if section.printed]
        assert ("What to do next" in printed) == (verdict == "cannot tell")
    texts = {row["question"]: (tuple(row["options"]), row["answer"]) for row in rows}
    loud = options(rows, lambda q, shown: texts[q][1] if shown == texts[q][0] else None, n_resamples=99)
    assert loud.verdict == "depends on the printed order"  # valid whatever answers are


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"level": 0.001}, "no p is below 0.01 with `n_resamples=99`"),
        ({"level": 0.01, "alternative": "two-sided"}, "no p is below 0.02 with `n_resamples=99`"),
        ({"alternative": "less"}, "`alternative` is 'less'"),
        ({"orders": "some"}, "`orders`"),
        ({"n_items": 1}, "`n_items` is 1"),
        ({"repeats": -1}, "`repeats` is -1"),
        ({"model": None}, "`model` is not given"),
        ({"model": 7}, "`model` is a int"),
        ({"model": lambda q, o: 4}, "returned 4 for a question with 4 options"),
        ({"model": lambda q, o: [0.0, 1.0]}, r"returned \[0.0, 1.0\] for a question with 4 options"),
        ({"model": lambda q, o: 1 / 0}, "failed on a question .ZeroDivisionError: division by zero"),
        ({"items": [{"question": "?", "options": ["1", "2"], "answer": 0}]}, "no item of rows has options whose order"),
    ],
)
def test_what_is_refused(given, says):
    rows = given.pop("items", benchmark(8))
    with pytest.raises(InputError, match=says):
        options(rows, given.pop("model", model_of(benchmark(8))), n_resamples=99, **given)


def test_runs_are_taken_as_they_are():
    rng = np.random.default_rng(0)
    scores, answers = rng.normal(size=(4, 90, 4)), rng.integers(4, size=(4, 90))
    runs = Runs.from_arrays(scores[0], answers[0], scores[1:], answers[1:], model="m")
    found = options(runs, n_resamples=99)
    assert (found.model, found.n_items, found.n_orders, found.kind) == ("m", 90, 4, "logged")
    assert found == options(None, runs, n_resamples=99)
    with pytest.raises(InputError, match="existing runs have their orders"):
        options(runs, orders=3)


def test_choices_of_ones_own():
    rows = benchmark(12)
    found = options(rows, lambda question, shown: Choice(-1, text="I will not say"), n_resamples=99)
    assert found.unparsed == found.n_answers
    assert any("no option could be read" in warning for warning in found.summary().warnings)


@pytest.mark.parametrize(("n", "m", "level"), [(400, 9, 0.05), (200, 2, 0.05)])
def test_the_detectable_share_is_found_four_times_in_five(n, m, level, rng):
    hits = 0
    for _ in range(200):
        ease = rng.random((n, 1))
        wrong = rng.random((2, n, m)) < ease
        known = orbit_test(wrong[0])
        every = orbit_test(learnt(np.arange(n + 1) * m, wrong[0].ravel()).reshape(n, m))
        share = detectable_share(
            learnt(np.arange(n + 1) * m, wrong[0].ravel()).reshape(n, m).mean(axis=1),
            every.standard_deviation,
            known.standard_deviation,
            p_all=every.p_value,
            level=level,
        )
        wrong[1][rng.random(n) < share, 0] = False
        hits += orbit_test(wrong[1]).p_value <= level
    assert 0.68 <= hits / 200 <= 0.9


@pytest.mark.parametrize("small", [False, True])
def test_the_detectable_share_where_few_orders_can_be_drawn(small, rng):
    """Most answers at one place, where only one order of four shifts has it; or one other order, and strata of six."""
    n, m, law = 300, *((2, [0.25] * 4) if small else (4, [0.9, 0.04, 0.03, 0.03]))
    starts, strata = np.arange(n + 1) * m, np.arange(n) // (6 if small else n)

    def made(share):
        at = rng.choice(4, (n, 1), p=law)
        at = np.hstack([at, rng.integers(0, 4, (n, 1))]) if small else (at + np.arange(4)) % 4
        wrong = rng.random((n, m)) < rng.random((n, 1))
        wrong[rng.random(n) < share, 0] = False
        return at.ravel(), wrong.ravel()

    def tested(at, wrong):
        return arrangement_test(starts, at, wrong, strata=strata, n_resamples=99, rng=rng)

    shares = []
    for _ in range(8):
        at, wrong = made(0.0)
        found, memorised = tested(at, wrong), learnt(starts, wrong)
        every, weights = tested(at, memorised), order_weights(starts, at, strata, uniform=False)
        lost = np.add.reduceat(weights * memorised, starts[:-1]) / np.add.reduceat(weights, starts[:-1])
        shares.append(
            detectable_share(
                lost * every.expected / lost.sum(),
                every.standard_deviation,
                found.standard_deviation,
                p_all=every.p_value,
                level=0.05,
            )
        )
    hits = sum(tested(*made(np.mean(shares))).p_value <= 0.05 for _ in range(80))
    assert 0.65 <= hits / 80 <= 0.93


def test_not_even_all_items_memorised_is_said_only_where_it_is_so():
    """Of few easy items, each right in most orders: memorising all of them is found, or it is not said to be."""
    said = {True: 0, False: 0}
    for seed in range(12):
        rows = benchmark(50, seed=seed)
        easy = {row["question"]: row["options"][row["answer"]] for row in rows}

        def mostly(question, shown, easy=easy, seed=seed):
            right = shown.index(easy[question])
            return right if unit(seed, question, shown) < 0.93 else (right + 1) % 4

        known = {row["question"]: tuple(row["options"]) for row in rows}

        def by_heart(question, shown, known=known, easy=easy, mostly=mostly):
            return shown.index(easy[question]) if shown == known[question] else mostly(question, shown)

        found = options(rows, mostly, orders=8, n_resamples=199)
        p = options(rows, by_heart, orders=8, n_resamples=1999).p_value
        if not 0.03 < p < 0.08:  # where draws decide
            assert math.isnan(found.detectable) == (p > 0.05)
            said[p > 0.05] += 1
    assert min(said.values()) > 0


@pytest.fixture(scope="module")
def results():
    rows = benchmark(80)
    rows[3]["id"] = "q3 **<img src=x onerror=1>**"
    rows[3]["question"] = "Which <script> is k_S?"
    right = {row["question"]: row["options"][row["answer"]] for row in rows}
    mixed = [*rows, *({**row, "question": f"Six {row['id']}?", "id": f"six{row['id']}"} for row in benchmark(9, k=6))]
    mixed += [{"id": f"n{i}", "question": f"How many {i}?", "options": ["3", "5"], "answer": 0} for i in range(70)]
    none = Runs.from_arrays(np.zeros((4, 3)), [0, 1, 2, 0], np.zeros((4, 3)), [1, 0, 2, 2])
    return {
        "found": options(rows, model_of(rows, first(rows, 60)), n_resamples=99),
        "quiet": options(mixed, model_of(mixed, tells=False), n_resamples=99, orders=4, alternative="two-sided"),
        "shuffled": options(rows, model_of(rows), n_resamples=99, uniform=True, mid_p=True),
        "hopeless": options(rows, lambda question, shown: shown.index(right[question]), n_resamples=99),
        "cannot": options(rows, lambda question, shown: None, orders="cyclic", n_resamples=99),
        "not": options(replace(none, not_applicable="each option was scored by itself")),
    }


def test_renderings(results, tmp_path):
    for name, result in results.items():
        check_renderings(result, tmp_path / name, drawn=name not in ("not", "cannot"))


@needs_chromium
def test_the_page_fits_a_phone(results, tmp_path):
    check_fits_a_phone(results["found"], tmp_path)
    check_fits_a_phone(results["quiet"], tmp_path)


def test_results_render_alone(results, tmp_path):
    check_renders_alone(results.values(), tmp_path)


def test_what_the_summary_says(results):
    told = {name: result.summary() for name, result in results.items()}
    assert {name: one.headline for name, one in told.items()} == {
        "found": "The score depends on the printed order",
        "quiet": "No sign that the score depends on the printed order",
        "shuffled": "No sign that the score depends on the printed order",
        "hopeless": "No sign that the score depends on the printed order",
        "cannot": "Cannot tell whether the score depends on the printed order",
        "not": "Not applicable",
    }
    assert told["not"].sentences == ("Each option was scored by itself.",)
    assert [section.title for section in told["not"].sections] == ["What to do next"]
    assert any(sentence.startswith("Had the model memorised") for sentence in told["quiet"].sentences)
    assert any(sentence.startswith("Not even") for sentence in told["hopeless"].sentences)
    assert not any("memorised the printed" in sentence for sentence in told["found"].sentences)
    assert math.isnan(results["cannot"].detectable)
    assert not any("memorised" in sentence or "p =" in sentence for sentence in told["cannot"].sentences)
    assert [figure.name for figure in told["cannot"].figures] == ["Score as printed"]
    assert any("mid-p, which is not valid" in warning for warning in told["shuffled"].warnings)
    titles = [section.title for section in told["found"].sections]
    assert titles[:3] == ["As printed, against other orders", "Items that look memorised", "Where the answers stand"]
