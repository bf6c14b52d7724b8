"""Existing runs in several orders: logs that inspect_ai and lm-evaluation-harness wrote themselves (`data/make.md`)."""

from __future__ import annotations

import itertools
import json
import random
import re
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import heldout
from heldout.errors import InputError
from heldout.multiple_choice.items import Item, Items
from heldout.multiple_choice.logs.designs import Flaw, find_flaw, is_uneven
from heldout.multiple_choice.logs.joined import join
from heldout.multiple_choice.logs.log import Answered, Log
from heldout.multiple_choice.readers import read_items
from heldout.multiple_choice.runs import Runs, read_runs
from heldout.predictions.inspect_logs import whole_samples
from heldout.scorers.choices import UNPARSED, Shown
from heldout.scorers.completions import read_response

DATA = Path(__file__).parent / "data"
INSPECT, HARNESS = DATA / "inspect", DATA / "lm_eval" / "models__tiny"
SHARED = Path(__file__).parents[3] / "shared" / "data" / "llm_option_scores.npz"
ROWS = [json.loads(line) for line in (DATA / "trees.jsonl").read_text().splitlines()]
LETTERED = ["trees", "trees_shuffled_?"]


@pytest.fixture(scope="module")
def items():
    return read_items(DATA / "trees.jsonl")


def logs(*names: str) -> list[Path]:
    return [INSPECT / f"{name}.eval" for name in names]


def as_json(source: Path, target: Path, change=lambda header, samples: None) -> Path:
    """A log in inspect_ai's other format, with something changed."""
    header, samples = whole_samples(source)
    rows = list(samples)
    change(header, rows)
    target.write_text(json.dumps({**header, "samples": rows}))
    return target


def each(runs: Runs):
    """Item, order, place of the answer, chosen place, whether wrong, score."""
    assert runs.orders is not None
    for i, (item, orders) in enumerate(zip(runs.items, runs.orders, strict=True)):
        assert orders[0].tolist() == list(range(len(item.options)))
        assert len({tuple(order) for order in orders.tolist()}) == len(orders) == runs.n_orders[i]
        for j, order in enumerate(orders.tolist(), start=int(runs.starts[i])):
            yield item, order, int(runs.positions[j]), int(runs.chosen[j]), bool(runs.wrong[j]), float(runs.scores[j])


class TestInspect:
    def test_agrees_with_the_model(self, items):
        """The mock model knows the first five printed letters and says B otherwise: every answer is known."""
        runs = read_runs(logs("printed", "shuffled-1", "shuffled-2"), items=items)
        assert [item.id for item in runs.items] == [row["id"] for row in ROWS]
        assert runs.model == "mockllm/by-heart"
        for item, order, place, chosen, wrong, score in each(runs):
            number = [row["id"] for row in ROWS].index(item.id)
            silent = item.id == "maple" and order[0] == 1
            says = UNPARSED if silent else ROWS[number]["answer"] if number < 5 else 1
            assert (place, chosen, wrong) == (order.index(item.answer), says, says != place)
            known = np.nan if silent else np.log(0.7 if says == place else 0.1)
            assert score == pytest.approx(known, nan_ok=True)
        assert (runs.n_repeats, runs.repeat_rate, dict(runs.left_out)) == (2, 1.0, {})
        named = read_runs(INSPECT, printed=INSPECT / "printed.eval", model="mockllm/by-heart")
        by_name = read_runs(logs("printed", "shuffled-1", "shuffled-2", "solver"), printed="printed")
        assert named.digest() == by_name.digest() != runs.digest()

    @pytest.mark.parametrize(
        ("before", "after"), [("ANSWER: ", " is a tree."), ("", ""), ("It is a tree. ANSWER: (", ").")]
    )
    def test_letters_are_scored_as_those_of_an_endpoint(self, tmp_path, items, before, after):
        """At the letter, not at the article after it; one that is not listed has half of the last probability."""

        def words(text):
            return [{"token": word, "logprob": -0.1, "top_logprobs": [
                {"token": token, "logprob": -3.0} for token in (word, " a", " b", " c", " d")
            ]} for word in re.findall(r"\W*\w*", text) if word]  # fmt: skip

        def said(letter):
            tops = {letter: -0.5, "Sure": -2.5, "ABCD"["ABCD".index(letter) - 1]: -3.0}
            listed = [{"token": token, "logprob": score} for token, score in tops.items()]
            step = {"token": letter, "logprob": -0.5, "top_logprobs": listed}
            return {"content": [*words(before), step, *words(after)]}

        def tell(header, samples):
            for sample in samples:
                sample["output"]["choices"][0]["logprobs"] = said(sample["scores"]["choice"]["answer"] or "A")

        paths = [
            as_json(INSPECT / f"{name}.eval", tmp_path / f"{name}.json", tell) for name in ("printed", "shuffled-1")
        ]
        for item, order, place, chosen, _, score in each(read_runs(paths, items=items)):
            letter, shown = "ABCD"[max(chosen, 0)], Shown("?", tuple(item.options[i] for i in order))
            message = {"content": f"{before}{letter}{after}"}
            answer = read_response({"choices": [{"message": message, "logprobs": said(letter)}]}, shown, "chat")
            known = np.array([0.5 * np.exp(-3.0)] * 4)
            known[[max(chosen, 0), max(chosen, 0) - 1]] = np.exp([-0.5, -3.0])
            np.testing.assert_allclose(answer.log_probs, np.log(known / known.sum()))
            assert score == pytest.approx(np.nan if chosen == UNPARSED else answer.log_probs[place], nan_ok=True)

    def test_shuffled_by_the_solver(self, items):
        """Its log pretends that nothing was shuffled; what was shown is in the explanation of the score."""
        _, samples = whole_samples(INSPECT / "solver.eval")
        explained = {sample["id"]: sample["scores"]["choice"]["explanation"] for sample in samples}
        for item, order, place, chosen, wrong, _ in each(read_runs(logs("printed", "solver"), items=items)):
            if order != [0, 1, 2, 3]:
                shown = "\n".join(f"{'ABCD'[i]}) {item.options[option]}" for i, option in enumerate(order))
                assert shown in explained[item.id]
                assert explained[item.id].endswith(f"ANSWER: {'ABCD'[chosen]}")
                assert wrong == (chosen != place)

    def test_without_items(self, tmp_path, items):
        """A JSON log with a second epoch, which is a repeat of the same order."""

        def again(header, samples):
            samples += [{**sample, "epoch": 2} for sample in samples]
            samples[-1]["scores"] = {"choice": {"value": "I", "answer": "A"}}

        printed = as_json(INSPECT / "printed.eval", tmp_path / "printed.json", again)
        runs = read_runs([printed, INSPECT / "shuffled-1.eval"], printed=printed)
        assert (runs.n_repeats, runs.repeat_rate) == (8, 7 / 8)
        same = read_runs(logs("printed", "shuffled-1"), items=items)
        assert runs.select(range(8)).digest() == same.select(range(8)).digest()
        some = runs.select([3, 1])
        assert [item.id for item in some.items] == ["rowan", "birch"]
        assert some.wrong.tolist() == [*runs.wrong[6:8], *runs.wrong[2:4]]

    def test_dropped_alike(self, tmp_path, items):
        """What a run failed on is left out, whichever order failed; several right answers and repeats are, too."""

        def fail(header, samples):
            samples[0]["scores"] = {}
            samples[1]["target"] = ["A", "B"]
            samples.append({**samples[2], "id": "larch-again"})

        other = as_json(INSPECT / "shuffled-1.eval", tmp_path / "failed.json", fail)
        with pytest.raises(
            InputError,
            match=(
                r"of 8 items, 1 are not in every run, and 2 more are left out \(1 several answers, 1 duplicate item\), "
                r"which leaves 5.*`missing=\"drop\"`"
            ),
        ):
            read_runs([INSPECT / "printed.eval", other], items=items)
        names = [sample["id"] for sample in whole_samples(other)[1]]
        runs = read_runs([INSPECT / "printed.eval", other], items=items, missing="drop")
        assert dict(runs.left_out) == {
            "not_in_every_run": (names[0],),
            "several_answers": (names[1],),
            "duplicate_item": (names[2],),
        }
        assert len(runs.items) == 5

    def test_repeats_never_decide(self, tmp_path, items):
        """An item stays by the first answer to each of its orders; another run that showed the same order is no
        second chance, and one that failed there no reason to drop it."""

        def twice(header, samples):
            again = [{**sample, "epoch": 2} for sample in samples]
            samples[0]["scores"] = {}
            again[1]["scores"] = {}
            samples += again

        printed = as_json(INSPECT / "printed.eval", tmp_path / "printed.json", twice)
        runs = read_runs([printed, INSPECT / "shuffled-1.eval"], items=items, missing="drop")
        assert dict(runs.left_out) == {"not_in_every_run": (ROWS[0]["id"],)}
        assert (len(runs.items), runs.n_repeats) == (7, 6)

    def test_other_dates_and_versions(self, tmp_path, items):
        """Another date, or another version under the same name, is told: the printed order is a run of its own."""

        def later(header, samples):
            header["eval"].update(created="2027-02-01T09:00:00+00:00")
            for sample in samples:
                sample["output"]["model"] = "by-heart-2027"

        other = as_json(INSPECT / "shuffled-1.eval", tmp_path / "later.json", later)
        runs = read_runs([INSPECT / "printed.eval", other], items=items)
        assert runs.differences == {
            "date": ("2026-11-16", "2027-02-01"),
            "version of the model": ("by-heart-2027", "mockllm/by-heart"),
        }
        warnings = heldout.options(runs, n_resamples=19).summary().warnings
        assert sum("differ in more than these" in warning for warning in warnings) == 2
        same = read_runs(logs("printed", "shuffled-1", "shuffled-2"), items=items)
        assert not same.differences
        read = same.select(np.flatnonzero(np.logical_and.reduceat(same.chosen != UNPARSED, same.starts[:-1])))
        assert "a run of its own" in repr(heldout.options(read, n_resamples=19).summary().sections)


def moved(source: Path, target: Path, order_of) -> Path:
    """A log whose options, with target and answer, stand in the orders that a function of item and options gives."""

    def move(header, samples):
        for i, sample in enumerate(samples):
            order = order_of(i)
            options = next(row["options"] for row in ROWS if row["id"] == sample["id"])
            right = next(row["answer"] for row in ROWS if row["id"] == sample["id"])
            sample["choices"] = [options[j] for j in order]
            sample["target"] = "ABCD"[order.index(right)]
            sample["messages"] = []
            value = "C" if sample["scores"]["choice"]["answer"] == sample["target"] else "I"
            sample["scores"]["choice"]["value"] = value

    return as_json(source, target, move)


REFUSED = [
    (
        ["printed", "shuffled-1"],
        {"items": None},
        "no printed order is known: give the items as printed, too.*`printed`",
    ),
    (["printed"], {}, "all runs show the options in one and the same order"),
    (["shuffled-1", "shuffled-2"], {}, "of 8 items, 7 were not run as printed, which leaves 1"),
    (
        ["printed", "shuffled-1"],
        {"printed": "original"},
        "`printed` is 'original', which is not one of the runs: 'printed",
    ),
    (["printed", "shuffled-1"], {"model": "gpt"}, "no run is of the model 'gpt'"),
    (
        ["printed", "shuffled-1"],
        {"metric": "match"},
        r"printed.eval has no scorer 'match'; it has 'choice' \(`metric`\)",
    ),
    (["printed", "shuffled-1"], {"task": "mmlu"}, r"2 runs has no task 'mmlu' \(`task`\).*'trees'"),
    (["printed", "shuffled-1"], {"missing": "nan"}, "`missing` is 'nan'; \"drop\" is all"),
    (["none"], {}, "none.eval does not exist"),
]


@pytest.mark.parametrize(("names", "options", "message"), REFUSED)
def test_refused(items, names, options, message):
    with pytest.raises(InputError, match=message):
        read_runs(logs(*names), **{"items": items, **options})


def test_other_ways_to_go_wrong(tmp_path, items):
    printed = INSPECT / "printed.eval"

    def refused(message, *paths, **options):
        with pytest.raises(InputError, match=message):
            read_runs([printed, *paths], **{"items": items, **options})

    def changed(name, change):
        return as_json(INSPECT / "shuffled-1.eval", tmp_path / f"{name}.json", change)

    other = changed("other", lambda header, samples: header["eval"].update(model="mockllm/other"))
    refused(r"runs are of 2 models, 'mockllm/by-heart', 'mockllm/other'.*`model='mockllm/by-heart'`", other)
    warm = changed("warm", lambda header, samples: header["plan"]["config"].update(temperature=1.0))
    refused(r"printed.eval and warm.json asked the model in two ways \(temperature: none and 1.0\)", warm)
    told = "Answer the question with a letter, and nothing else. Think"
    short = changed("short", lambda header, samples: header["plan"]["steps"][0]["params"].update(template=told))
    refused(
        r"two ways \(template of multiple_choice: none and 'Answer the question with a letter\S* \w*\.\.\.\)", short
    )
    more = changed("more", lambda header, samples: header["plan"]["steps"].insert(0, {"solver": "system_message"}))
    refused(r"two ways \(solvers: 'multiple_choice' and 'system_message, multiple_choice'\)", more)
    wrong = Items(tuple(replace(item, answer=(item.answer + 1) % 4) for item in items), "wrong.jsonl")
    says = "in 8 of 8 items the right answer in the runs is another option than in wrong.jsonl; is `answers_from` right"
    refused(says, INSPECT / "shuffled-1.eval", items=wrong)
    failed = changed("failed", lambda header, samples: header.update(status="error"))
    refused("failed.json: the run ended with the status 'error'", failed)
    open_question = changed("open", lambda header, samples: [sample.pop("choices") for sample in samples])
    refused("open.json holds no samples with choices", open_question)
    elsewhere = changed("else", lambda header, samples: [sample.update(input="What?") for sample in samples])
    refused(r"no item was run both as printed and in another order \(8 in one run\)", elsewhere)
    hidden = changed(
        "hidden", lambda header, samples: samples[0].update(choices=samples[0]["choices"][::-1], target="C")
    )
    refused("hidden.json: the sample .* shown its options in another order than the one logged|counts as", hidden)
    strange = changed("strange", lambda header, samples: samples[0].update(target="Oak"))
    refused("has the target 'Oak', which is not the letter of one of its 4 choices", strange)
    empty = tmp_path / "empty"
    empty.mkdir()
    refused("holds no logs of inspect_ai", empty)
    broken = tmp_path / "broken.eval"
    broken.write_bytes(printed.read_bytes()[:2000])
    refused(r"broken.eval is damaged or cut short, or not an inspect_ai file\.$", broken)


class TestDesigns:
    """Whether each order, had it been printed, would have led to the same ones."""

    def test_one_list_for_all(self, tmp_path, items):
        turned = moved(INSPECT / "printed.eval", tmp_path / "turned.json", lambda i: [1, 2, 3, 0])
        both = [INSPECT / "printed.eval", turned]
        with pytest.raises(InputError, match=r"'turned.json' moved the options of all items alike, so that"):
            read_runs(both, items=items)
        with pytest.raises(
            InputError, match=r"alike beside runs that shuffled each item by itself.*leave out one kind"
        ):
            read_runs([*both, INSPECT / "shuffled-1.eval"], items=items)
        shifts = [
            moved(INSPECT / "printed.eval", tmp_path / f"{k}.json", lambda i, k=k: [(j + k) % 4 for j in range(4)])
            for k in (2, 3)
        ]
        assert read_runs([*both, *shifts], items=items).n_orders.tolist() == [4] * 8

    @pytest.mark.parametrize(
        ("orders", "fine"),
        [
            ([(1, 0, 3, 2)], True),  # a group of two
            ([(3, 2, 1, 0)], True),
            ([(1, 2, 3, 0)], False),
            ([(1, 2, 3, 0), (2, 3, 0, 1)], False),
            ([(1, 2, 3, 0), (2, 3, 0, 1), (3, 0, 1, 2)], True),
            (list(itertools.permutations(range(4)))[1:], True),
            (list(itertools.permutations(range(4)))[1:9], False),
        ],
    )
    def test_lists(self, orders, fine):
        shown = {run: {i: (i % 4, order) for i in range(40)} for run, order in enumerate(orders)}
        assert (find_flaw(shown) is None) == fine

    def test_answer_moved(self):
        """The right option put to every place: fine where the others keep their order, not where it changes places."""

        def inserted(answer, place):
            others = [i for i in range(4) if i != answer]
            return (*others[:place], answer, *others[place:])

        def swapped(answer, place):
            order = list(range(4))
            order[answer], order[place] = order[place], order[answer]
            return tuple(order)

        for move, fine in ((inserted, True), (swapped, False)):
            shown = {place: {i: (i % 4, move(i % 4, place)) for i in range(60)} for place in range(4)}
            assert (find_flaw(shown) is None) == fine

    def test_one_list_with_exceptions(self):
        """A few items that were moved otherwise, or kept their order by custom, hide nothing."""
        rng = random.Random(0)
        listed = {i: (i % 4, (1, 2, 3, 0)) for i in range(200)}
        some = {**listed, 7: (3, (1, 0, 2, 3)), **{i: (i % 4, (0, 1, 2, 3)) for i in range(20, 40)}}
        assert find_flaw({"shifted": some}) == Flaw(("shifted",), mixed=False, whole=False)
        half = {**listed, **{i: (i % 4, (0, 1, 2, 3)) for i in range(100)}}
        assert find_flaw({"half": half}) is None
        assert is_uneven({"half": half})
        shifts = [tuple((j + k) % 4 for j in range(4)) for k in range(4)]
        assert find_flaw({"random shifts": {i: (i % 4, rng.choice(shifts)) for i in range(200)}}) is None
        drawn = {i: (i % 4, tuple(rng.sample(range(4), 4))) for i in range(200)}
        nearly_printed = {i: (i % 4, (0, 1, 2, 3) if i else (1, 0, 2, 3)) for i in range(200)}
        assert find_flaw({"printed": nearly_printed, "drawn": drawn}) is None
        assert not is_uneven({"drawn": drawn})

    def test_items_that_are_left_out_hide_nothing(self):
        """Numbers that a run turns round beside words that it shifts, all of them."""
        words = [("oak", "yew", "elm", "fir") if i % 2 else ("1", "2", "3", "4") for i in range(80)]
        items = Items(tuple(Item(str(i), f"Which, {i}?", own, i // 2 % 4) for i, own in enumerate(words)))
        shown = [own[::-1] if own[0] == "1" else (*own[1:], own[0]) for own in words]
        runs = [
            Log(path=Path(name), model="m", task="t", answered=tuple(
                Answered(item.id, item.question, tuple(own), own.index(item.options[item.answer]), 0, False)
                for item, own in zip(items, orders, strict=True)
            ))
            for name, orders in (("printed", words), ("moved", shown))
        ]  # fmt: skip
        with pytest.raises(InputError, match="'moved' moved the options of all items alike"):
            join(runs, items, None, missing=None, source="runs")

    @pytest.mark.parametrize("key", [str, len])
    def test_a_run_that_sorts(self, key):
        """Its orders were not drawn. A model that is worse with them gave false alarms in 59 % of simulated benchmarks.

        A benchmark that is printed sorted says so in its result, and its shifts are no run that sorts.
        """
        rng = random.Random(0)
        trees = ["oak", "larch", "willow", "fig", "maples", "elm"]
        drawn = [tuple(rng.sample(trees[:3] if key is len else trees, 3)) for _ in range(60)]
        ordered = [tuple(sorted(own, key=key)) for own in drawn]
        shuffled = [tuple(rng.sample(own, 3)) for own in drawn]

        def joined(printed, *others):
            items = Items(tuple(Item(str(i), f"Which, {i}?", own, i % 3) for i, own in enumerate(printed)))
            logs = [
                Log(path=Path(name), model="m", task="t", answered=tuple(
                    Answered(item.id, item.question, own, own.index(item.options[item.answer]), 0, False)
                    for item, own in zip(items, orders, strict=True)
                ))
                for name, orders in zip(("printed", "one", "two"), (printed, *others), strict=False)
            ]  # fmt: skip
            return join(logs, items, None, missing=None, source="runs")

        told = "in alphabetical order" if key is str else "from short to long"
        with pytest.raises(InputError, match=f"'two' shows the wrong options {told} in 5. of 5. items, 2.* by chance"):
            joined(drawn, shuffled, ordered)
        shifts = [[(*own[k:], *own[:k]) for own in ordered] for k in (1, 2)]
        assert len(joined(ordered, *shifts).items) == 60
        assert len(joined(drawn, shuffled).items) > 40

    def test_drawn(self):
        rng = random.Random(0)
        for n in (2, 5, 30):
            shown = {run: {i: (i % 4, tuple(rng.sample(range(4), 4))) for i in range(n)} for run in range(3)}
            assert find_flaw(shown) is None

    def test_drawn_from_few_orders(self):
        """One of two shifts for each item by itself: half of small runs have most items alike by chance."""
        rng, shifts = random.Random(0), [(1, 2, 0), (2, 0, 1)]
        runs = [{i: (i % 3, rng.choice(shifts)) for i in range(30)} for _ in range(50)]
        most = [
            sum(max(sum(own[i][1] == s for i in range(a, 30, 3)) for s in shifts) for a in range(3)) for own in runs
        ]
        assert sum(n > 0.6 * 30 for n in most) > 20
        assert [find_flaw({"shifted": own}) for own in runs] == [None] * 50


class TestHarness:
    def test_agrees_with_the_samples(self, items):
        """Letters of the prompts that were sent, and the harness's own accuracy."""
        runs = read_runs(HARNESS, items=items, task=LETTERED)
        assert (runs.model, runs.not_applicable) == ("models__tiny", "")
        logged = {}
        for path in HARNESS.glob("samples_trees_2*.jsonl"), HARNESS.glob("samples_trees_shuffled*.jsonl"):
            for row in (json.loads(line) for file in path for line in file.read_text().splitlines()):
                logged[row["arguments"]["gen_args_0"]["arg_0"]] = row
        for item, order, place, chosen, wrong, score in each(runs):
            lines = [f"{'ABCD'[i]}. {item.options[option]}" for i, option in enumerate(order)]
            row = logged["\n".join([item.question, *lines, "Answer:"])]
            told = np.array([float(response[0]) for response in row["filtered_resps"]])
            assert (place, wrong) == (int(row["target"]), row["acc"] == 0)
            assert chosen == np.argmax(told)
            assert score == pytest.approx(told[place] - np.log(np.exp(told).sum()))
        assert runs.n_orders.sum() + runs.n_repeats == 24

    def test_written_answers(self, tmp_path, items):
        """What the filter leaves; a text without a letter is unparsed, and wrong."""
        for path in HARNESS.glob("samples_trees_written*"):
            shutil.copy(path, tmp_path)
            rows = [json.loads(line) for line in path.read_text().splitlines()]
        for row in rows:
            row["doc"] = {**row["doc"], "options": row["doc"]["options"][::-1], "answer": 3 - row["doc"]["answer"]}
            row["target"] = "ABCD"[row["doc"]["answer"]]
            del row["arguments"]["gen_args_0"]["arg_0"]
            row["arguments"]["gen_args_0"] = {"arg_0": "", **row["arguments"]["gen_args_0"]}
            row["exact_match"] = float(row["filtered_resps"][0] == row["target"])
        again = tmp_path / "samples_reversed_2026-11-17T00-00-00.000000.jsonl"
        again.write_text("".join(json.dumps(row) + "\n" for row in rows))
        runs = read_runs(tmp_path, items=items)
        said = [row["filtered_resps"][0] for row in rows]
        assert runs.chosen[::2].tolist() == [
            UNPARSED if letter == "[invalid]" else "ABCD".index(letter) for letter in said
        ]
        assert runs.wrong[::2].tolist() == [runs.chosen[2 * i] != row["answer"] for i, row in enumerate(ROWS)]
        assert np.isnan(runs.scores).all()
        with pytest.raises(
            InputError, match=r"asked the model in two ways \(answers: 'letters' and 'written'\).*`task`"
        ):
            read_runs(HARNESS, items=items)

    def test_scored_one_by_one(self, items):
        alone = read_runs(HARNESS, task="trees_alone*")
        assert "scored by itself" in alone.not_applicable
        assert len(alone.items) == 8
        both = read_runs(HARNESS, items=items, task=[*LETTERED, "trees_alone*"])
        assert both.digest() == read_runs(HARNESS, items=items, task=LETTERED).digest()

    def test_scores_that_merely_reorder(self, tmp_path, items):
        """The same where the requests do not tell: letters whose scores move with the options."""
        for path in (*HARNESS.glob("samples_trees_2*"), *HARNESS.glob("samples_trees_shuffled*")):
            rows = [json.loads(line) for line in path.read_text().splitlines()]
            for row in rows:
                scores = [-float(len(option)) - ord(option[0]) / 100 for option in row["doc"]["options"]]
                row["filtered_resps"] = [[str(score), "False"] for score in scores]
                row["acc"] = float(np.argmax(scores) == row["doc"]["answer"])
            (tmp_path / path.name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert "scored by itself" in read_runs(tmp_path, items=items).not_applicable

    def test_broken_documents(self, tmp_path):
        """One option twice: no order can be told, and the item is left out."""
        for path in (*HARNESS.glob("samples_trees_2*"), *HARNESS.glob("samples_trees_shuffled*")):
            rows = [json.loads(line) for line in path.read_text().splitlines()]
            rows[3]["doc"]["options"] = ["Alder", "Alder", "Rowan", "Lime"]
            (tmp_path / path.name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        (printed,) = tmp_path.glob("samples_trees_2*")
        runs = read_runs(tmp_path, printed=printed)
        assert (len(runs.items), dict(runs.left_out)) == (7, {"broken": ("3",)})

    def test_broken_rows_of_the_items(self, items):
        rows = [*ROWS, {**ROWS[0], "id": "torn", "options": ["Alder"]}]
        runs = read_runs(logs("printed", "shuffled-1"), items=read_items(rows, skip_broken=True))
        assert (len(runs.items), runs.left_out["broken_options"]) == (len(items), ("torn",))
        assert heldout.options(runs, n_resamples=99).n_given == len(rows)

    def test_model_and_settings_from_the_results(self, tmp_path, items):
        for path in (*HARNESS.glob("samples_trees_2*"), *HARNESS.glob("samples_trees_shuffled*")):
            shutil.copy(path, tmp_path)
        (stamp,) = {path.stem.rpartition("_")[2] for path in tmp_path.iterdir()}
        results = tmp_path / f"results_{stamp}.json"
        results.write_text(json.dumps({"model_name": "models/tiny", "n-shot": {"trees": 0}}))
        assert read_runs(tmp_path, items=items).model == "models/tiny"
        results.write_text(json.dumps({"n-shot": {"trees": 5, "trees_shuffled_1": 0}}))
        with pytest.raises(InputError, match=r"two ways \(few-shot examples: 5 and none\)"):
            read_runs(tmp_path, items=items)

    def test_tasks_are_strata(self, tmp_path, items):
        """The same eight items as two tasks of four: answers' places are compared within each."""
        for path in (*HARNESS.glob("samples_trees_2*"), *HARNESS.glob("samples_trees_shuffled*")):
            lines = path.read_text().splitlines(keepends=True)
            for name, part in (("oaks", lines[:4]), ("elms", lines[4:])):
                (tmp_path / path.name.replace("trees", name)).write_text("".join(part))
        runs = read_runs(tmp_path, items=items)
        assert len(set(runs.strata[:4])) == len(set(runs.strata[4:])) == 1
        assert runs.strata[0] != runs.strata[4]
        assert runs.digest() != read_runs(HARNESS, items=items, task=LETTERED).digest()


class TestArrays:
    def test_oracle(self):
        """Letters of a made-up model, in two other orders; fewer options are padded."""
        rng = np.random.default_rng(0)
        scores = rng.normal(size=(3, 6, 4))
        scores[:, 4:, 3] = np.nan
        scores[:2, 2, 0] = -np.inf
        answers = rng.integers(0, 3, size=(3, 6))
        runs = Runs.from_arrays(scores[0], answers[0], scores[1:], answers[1:], ids=list("abcdef"))
        assert runs.strata.tolist() == [4, 4, 4, 4, 3, 3]
        for i, j in itertools.product(range(6), range(3)):
            told = scores[j, i, : runs.strata[i]]
            at = runs.starts[i] + j
            assert (runs.positions[at], runs.chosen[at]) == (answers[j, i], np.argmax(told))
            assert runs.wrong[at] == (np.argmax(told) != answers[j, i])
            assert runs.scores[at] == pytest.approx(told[answers[j, i]] - np.log(np.exp(told).sum()))
        assert (runs.with_text, runs.orders, runs.not_applicable) == (False, None, "")

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"printed_scores": [1.0, 2.0]}, r"`printed_scores` has the shape \(2,\)"),
            ({"scores": np.zeros((2, 3))}, r"`scores` has the shape \(2, 3\); \(3, 2\) is needed"),
            ({"answer": [0, 1, 2]}, "`answer` of the item 2 is 2, which is not one of its 2 options"),
            ({"printed_answer": [0.0, 1.0, 1.0]}, "`printed_answer` .* type float64; whole numbers"),
            ({"ids": ["a", "a", "b"]}, "`ids` must be 3 different names"),
            ({"scores": [[1.0, np.nan]] * 3}, "may only pad"),
        ],
    )
    def test_refused(self, changes, message):
        given = {
            "printed_scores": np.zeros((3, 2)), "printed_answer": [0, 1, 1], "scores": np.ones((3, 2)),
            "answer": [1, 0, 0],
        }  # fmt: skip
        with pytest.raises(InputError, match=message):
            Runs.from_arrays(**{**given, **changes})

    @pytest.mark.parametrize("k", [2, 3, 4])
    def test_sure_of_one_letter(self, k):
        """0 for the letter and -9999 for all others is no sign that options were scored by themselves."""
        rng = np.random.default_rng(0)
        answers = rng.integers(k, size=(2, 100))
        said = np.where(rng.random((2, 100)) < 0.98, answers, (answers + 1) % k)
        scores = np.where(np.arange(k) == said[..., np.newaxis], -1e-4 * rng.random((2, 100, 1)), -9999.0)
        assert not Runs.from_arrays(scores[0], answers[0], scores[1], answers[1]).not_applicable
        alone = rng.normal(size=(100, k))
        turned = Runs.from_arrays(alone, answers[0], alone[:, ::-1], k - 1 - answers[0])
        assert "scored by itself" in turned.not_applicable

    def test_one_list_for_all(self):
        """Places that follow from the printed ones, a few aside: refused, unless all of them are there."""
        rng = np.random.default_rng(0)
        printed = rng.integers(4, size=60)
        shifted = np.array([(printed + k) % 4 for k in (1, 2, 3)])
        scores = rng.normal(size=(4, 60, 4))
        with pytest.raises(InputError, match=r"in the other order the right option .* in all items alike \(`answer`\)"):
            Runs.from_arrays(scores[0], printed, scores[1], shifted[0])
        nearly = shifted[0].copy()
        nearly[:3] = (nearly[:3] + 1) % 4
        with pytest.raises(InputError, match="in most items alike"):
            Runs.from_arrays(scores[0], printed, scores[1], nearly)
        with pytest.raises(InputError, match="in all items alike beside orders drawn for each item"):
            Runs.from_arrays(scores[0], printed, scores[1:3], np.array([shifted[0], rng.integers(4, size=60)]))
        assert len(Runs.from_arrays(scores[0], printed, scores[1:], shifted).items) == 60
        assert len(Runs.from_arrays(scores[0], printed, scores[1], rng.integers(4, size=60)).items) == 60

    @pytest.mark.skipif(not SHARED.exists(), reason="needs ../shared/data/llm_option_scores.npz")
    def test_shared_scores(self):
        """A small model in the printed and one other order: MMLU by letters, the rest option by option."""
        runs = read_runs(SHARED, task="mmlu")
        assert np.bincount(runs.positions[runs.starts[:-1]]).tolist() == [19, 16, 25, 42]
        assert (len(runs.items), runs.not_applicable) == (102, "")
        for task, n in (("arc", 100), ("hellaswag", 58), ("truthfulqa", 136)):
            alone = read_runs(SHARED, task=task)
            assert (len(alone.items), "scored by itself" in alone.not_applicable) == (n, True)

    def test_tasks(self, tmp_path):
        path, scores = tmp_path / "scores.npz", np.log([[0.7, 0.3], [0.2, 0.8]])
        one = {
            "original_loglik": scores,
            "original_target": [0, 1],
            "permuted_loglik": scores,
            "permuted_target": [1, 0],
        }
        np.savez(path, **{f"{task}_{key}": value for task in ("arc_easy", "arc", "mmlu") for key, value in one.items()})
        assert read_runs(path, task="mmlu").model == "mmlu"
        for task, message in {
            None: "holds several tasks, 'arc_easy', 'arc', 'mmlu', and one is tested at a time; choose it with `task`",
            "arc*": "holds several tasks that 'arc*' names, 'arc_easy', 'arc', and one",
            "nope": "scores.npz has no task 'nope' (`task`); it has 'arc_easy', 'arc', 'mmlu'.",
        }.items():
            with pytest.raises(InputError, match=re.escape(message)):
                read_runs(path, task=task)


def test_zip_and_json_are_the_same(tmp_path, items):
    json_log = as_json(INSPECT / "shuffled-1.eval", tmp_path / "shuffled-1.json")
    first = read_runs([INSPECT / "printed.eval", json_log], items=items)
    assert first.digest() == read_runs(logs("printed", "shuffled-1"), items=items).digest()
    assert zipfile.is_zipfile(INSPECT / "shuffled-1.eval")
