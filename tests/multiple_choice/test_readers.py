"""Items from every usual layout, and what is said of those that cannot be used."""

from __future__ import annotations

import csv
import gzip
import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from heldout.errors import InputError
from heldout.multiple_choice.items import Item, Items
from heldout.multiple_choice.left_out.exchangeable import left_out
from heldout.multiple_choice.readers import read_items

FRUIT = ("apple", "plum", "pear", "fig")
MMLU = {"question": "Which?", "subject": "fruit", "choices": list(FRUIT), "answer": 2}
# Rows of one item whose right option is the third, "pear", in the layouts of well-known benchmarks.
LAYOUTS = {
    "MMLU": MMLU,
    "MMLU-Pro": {
        "question_id": 70,
        "question": "Which?",
        "options": list(FRUIT),
        "answer": "C",
        "answer_index": 2,
        "cot_content": "",
    },
    "ARC": {
        "id": "Mercury_7",
        "question": "Which?",
        "choices": {"text": list(FRUIT), "label": ["1", "2", "3", "4"]},
        "answerKey": "3",
    },
    "ARC, its own files": {
        "id": "Mercury_7",
        "question": {
            "stem": "Which?",
            "choices": [{"text": t, "label": letter} for t, letter in zip(FRUIT, "ABCD", strict=True)],
        },
        "answerKey": "C",
    },
    "HellaSwag": {"ind": 24, "activity_label": "Eating", "ctx": "Which?", "endings": list(FRUIT), "label": "2"},
    "TruthfulQA": {"question": "Which?", "mc1_targets": {"choices": list(FRUIT), "labels": [0, 0, 1, 0]}},
    "TruthfulQA, its own files": {"question": "Which?", "mc1_targets": {t: int(t == "pear") for t in FRUIT}},
    "OpenBookQA": {
        "question_stem": "Which?",
        "choices": {"text": list(FRUIT), "label": list("ABCD")},
        "answerKey": "C",
    },
    "MedQA": {
        "question": "Which?",
        "options": dict(zip("ABCD", FRUIT, strict=True)),
        "answer": "pear",
        "answer_idx": "C",
    },
    "MedMCQA": {"question": "Which?", **dict(zip(("opa", "opb", "opc", "opd"), FRUIT, strict=True)), "cop": 2},
    "columns by letter": {"Question": "Which?", **dict(zip("ABCD", FRUIT, strict=True)), "Answer": "c"},
    "columns by number": {"question": "Which?", **{f"choice{i}": t for i, t in enumerate(FRUIT)}, "label": 2},
    "the answer as text": {"question": "Which?", "options": list(FRUIT), "correct_answer": "pear"},
    "inspect_ai": {"input": "Which?", "choices": list(FRUIT), "target": "C"},
}


@pytest.mark.parametrize("row", LAYOUTS.values(), ids=LAYOUTS)
def test_layouts(row):
    (item,) = read_items([row])
    assert (item.question, item.options, item.answer) == ("Which?", FRUIT, 2)
    assert item.id == str(row.get("id", row.get("question_id", 0)))


def test_a_passage_is_part_of_the_question():
    (race,) = read_items([{"article": "Ann eats.", "question": "Who?", "options": ["Ann", "Bob"], "answer": "A"}])
    assert race.question == "Ann eats.\nWho?"


def write(path: Path, rows: list[dict]) -> Path:
    """A table of plain cells or of lists, in the format of its name."""
    text = "\n".join(json.dumps(row) for row in rows)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    elif path.suffix == ".parquet":
        pd.DataFrame(rows).to_parquet(path)
    elif path.suffix in (".csv", ".tsv"):
        with path.open("w", newline="") as f:
            table = csv.DictWriter(f, rows[0], delimiter="\t" if path.suffix == ".tsv" else ",")
            table.writeheader()
            table.writerows(rows)
    else:
        path.write_text(text if path.suffix == ".jsonl" else json.dumps({"data": rows}))
    return path


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.json", "a.parquet", "a.csv", "a.tsv"])
@pytest.mark.parametrize("layout", ["MMLU", "ARC", "columns by letter", "HellaSwag"])
def test_files(tmp_path, name, layout):
    (item,) = read_items(write(tmp_path / name, [LAYOUTS[layout]]))
    assert (item.question, item.options, item.answer) == ("Which?", FRUIT, 2)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames(make):
    rows = [MMLU, {**MMLU, "question": "And?", "answer": 0}]
    items = read_items(make(rows))
    assert [(item.id, item.question, item.answer) for item in items] == [("0", "Which?", 2), ("1", "And?", 0)]
    assert items.source == "DataFrame"


def test_mmlu_files_without_a_header_and_folders(tmp_path):
    (tmp_path / "a_test.csv").write_text('"Which, and why?",apple,plum,pear,fig,C\nAnd?,1,2,3,4,A\n')
    (tmp_path / "b_test.csv").write_text("question,A,B,C,answer\nFewer?,x,y,,1\nAll?,x,y,z,2\n")
    items = read_items(tmp_path)
    assert [item.id for item in items] == ["a_test/0", "a_test/1", "b_test/0", "b_test/1"]
    assert [item.answer for item in items] == [2, 0, 1, 2]
    assert items[2].options == ("x", "y")
    assert [item.id for item in read_items([tmp_path / "a_test.csv"])] == ["0", "1"]


def test_blank_options_mean_the_same_wherever_they_stand(tmp_path):
    """Blanks at the end are fewer options, unless others are gaps: which items stay must not depend on their order."""
    path = tmp_path / "a.csv"
    path.write_text("question,A,B,C,D,answer\n1?,w,x,y,,A\n2?,w,x,y,None,B\n3?,NA,x,y,z,C\n")
    assert [item.options for item in read_items(path)] == [
        ("w", "x", "y"),
        ("w", "x", "y", "None"),
        ("NA", "x", "y", "z"),
    ]
    with pytest.raises(InputError, match=r"row 1 has NaN in 'D', .* keep_default_na=False"):
        read_items(pd.read_csv(path), skip_broken=True)
    assert read_items(pd.read_csv(path, keep_default_na=False)).digest() == read_items(path).digest()
    path.write_text(path.read_text() + "4?,w,,y,z,A\n")
    with pytest.raises(InputError, match="row 1: option 4 is empty; since some rows have empty options before others"):
        read_items(path)
    assert read_items(path, skip_broken=True).broken.keys() == {"0", "3"}


def test_items_and_what_they_say_of_themselves():
    items = read_items([{**MMLU, "question": f"{i}?"} for i in range(30)], answers_from=0)
    assert read_items(items) is items
    assert isinstance(items[:2], Items)
    assert items.digest() == read_items(list(items)).digest() != items[:29].digest()
    turned = Items(tuple(reversed(items.items)))
    assert set(items.sample(7, seed=1)) == set(turned.sample(7, seed=1)) != set(items.sample(7, seed=2))
    assert set(items.sample(7, seed=1)) < set(items.sample(8, seed=1))
    assert len(items.sample(99, seed=0)) == 30
    same = Item("x", "0?", tuple(reversed(FRUIT)), 1)
    assert same.key == items[0].key != items[1].key


def one(**changed) -> list[dict]:
    return [{**MMLU, **changed}]


def answers(*given, options=FRUIT) -> list[dict]:
    return [{"question": f"{i}?", "options": list(options), "answer": answer} for i, answer in enumerate(given)]


BAD = [
    ([], "rows is empty: at least one item is needed."),
    (["a", {"question": "?"}], "row 1 is not an object"),
    ({"question": "?"}, "`items` is of the type dict"),
    (7, "`items` is of the type int"),
    ([{"a": 1, "options": ["x", "y"]}], "no question under a usual name; of its columns 'a', 'options'"),
    ([{"question": "?", "answer": 0}], "no options under a usual name"),
    ([{"question": "?", "options": ["x", "y"]}], "no answer under a usual name"),
    (
        [{"question": "?", "correct_answer": "x", "distractor1": "y", "distractor2": "z"}],
        "lists the right answer apart from the wrong ones ('distractor1', 'distractor2'), so that no order",
    ),
    (one(choices=["x"]), "row 1 has one option, 'x', where at least 2 are needed; leave out what is"),
    (one(choices=[]), "row 1 has no options"),
    (one(choices=["x", " "]), "row 1: option 2 is empty"),
    (one(choices=["x", "y", "x "]), "row 1 has two options with the same text, 'x'"),
    (one(choices=[str(i) for i in range(27)]), "row 1 has 27 options, more than the 26 letters"),
    (one(choices="pear"), "'choices' is 'pear', where a list is needed; leave"),
    (one(choices=[["x"], ["y"]]), "options that are lists themselves"),
    (one(choices={"text": ["x", "y"], "label": ["A"]}), "'choices' has 2 texts and 1 labels"),
    (one(question=" "), "row 1 has no question ('question')"),
    (one(answer=None), "row 1 has no answer ('answer')"),
    (one(answer=7), "the answer 7 names no option; give a letter (A to D), the text of an option, or a number from 0"),
    (one(answer="E"), "the answer 'E' names no option"),
    (one(answer=True), "the answer True names no option"),
    (one(answer=1.5), "the answer 1.5 names no option"),
    (answers("A", "B", "F"), "row 3: the answer 'F' names no option by a letter, as other rows do; its options are A"),
    (answers("A", "B", 1), "row 3: the answer 1 is not a letter, but other rows have a letter; write all"),
    (answers(1, 4, 2), "row 2: the answer 4 is not one of 4 options counted from 0, and no answer is 0: they seem to"),
    (answers(*[1, 2, 3] * 9), "the answer is 1, and of 27 answers that are numbers none is 0; say whether they count"),
    (
        answers("A", "F", "G"),
        "the answer 'F' names no option by a letter, as other rows do (and 1 more of 3 rows",
    ),
    (
        [*one(choices=["x"]), MMLU, *one(question="")],
        "'x', where at least 2 are needed (and 1 more of 3 rows",
    ),
    (
        [*[MMLU] * 2, *one(answer=9), MMLU, *one(choices=["x"]), *one(question=""), *[MMLU] * 2],
        "row 3: the answer 9 names no option by a number, as other rows do (and 2 more of 8 rows are broken); its",
    ),
    (answers("A", None, 9, "B"), "row 2 has no answer ('answer') (and 1 more of 4 rows are broken); leave out"),
    (
        one(choices={"text": ["x", "y"], "label": ["A", "A"]}, answer="A"),
        "row 1: 'choices' has two options with the label 'A'; leave out",
    ),
    (one(choices="['x' 'y']"), "not one without commas, as numpy prints it: save Parquet or JSONL"),
    (
        answers(1, 0, 2, options=(2, 0, 1)),
        "the answer 1 can be read as a number and as the text of an option, and these",
    ),
    (answers(1.0, 0.0, options=("1", "2", "0")), "can be read as a number and as the text of an option, and these are"),
    (answers("1", "2", options=("2", "1", "0")), "can be read as a number and as the text of an option, and these are"),
    ([{**LAYOUTS["MMLU-Pro"], "answer": "D"}], "'answer_index' is 2 and 'answer' is 'D', which are two options"),
    ([{**LAYOUTS["TruthfulQA"], "mc1_targets": {"x": 1, "y": 1}}], "marks 2 options as right, where one is needed"),
    ("missing.jsonl", "missing.jsonl does not exist."),
    ("items.txt", "items.txt has the suffix '.txt'; items are read from .jsonl"),
    ("empty.jsonl", "empty.jsonl is empty"),
    ("cut.jsonl", "line 2 is no JSON"),
    ("scalar.json", "holds neither a list of items nor one list for each column"),
    ("folder", "folder is a folder without items"),
    ("splits", "holds splits of a data set ('dev', 'test', 'train'); give one, such as {}/splits/test."),
    ("columns.parquet", "columns.parquet has no columns; save the table again"),
    ("nosplits", "nosplits should hold splits of a data set (dataset_dict.json), but has none; save it again."),
    ("cut.arrow", "cut.arrow is damaged or cut short, or not an Arrow file"),
]


@pytest.mark.parametrize(("source", "says"), BAD, ids=[says[:60] for _, says in BAD])
def test_bad_items(source, says, tmp_path):
    for name in ("folder", "splits/train", "splits/test", "splits/dev", "nosplits"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("splits", "nosplits"):
        (tmp_path / name / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    (tmp_path / "cut.arrow").write_bytes(b"ARROW1")
    pl.DataFrame().write_parquet(tmp_path / "columns.parquet")
    for name, text in (("items.txt", "x"), ("empty.jsonl", ""), ("scalar.json", "3")):
        (tmp_path / name).write_text(text)
    (tmp_path / "cut.jsonl").write_text(json.dumps(MMLU) + '\n{"question": ')
    with pytest.raises(InputError) as error:
        read_items(tmp_path / source if isinstance(source, str) else source)
    assert says.replace("{}", str(tmp_path)) in str(error.value)
    assert str(error.value).endswith(".")
    assert "\n" not in str(error.value)


def test_from_what_numbers_count():
    assert [item.answer for item in read_items(answers(1, 4, 2), answers_from=1)] == [0, 3, 1]
    assert [item.answer for item in read_items(answers(*[1, 2] * 15), answers_from=0)] == [1, 2] * 15
    assert read_items(answers([2]))[0].answer == 2
    # One row that is broken must not hide what the others tell.
    for odd in (9, "n/a", None):
        with pytest.raises(InputError, match="seem to count from 1"):
            read_items(answers(1, 4, 2, 3, 3, odd), skip_broken=True)
    with pytest.raises(InputError, match="seem to count from 0"):
        read_items(answers(1, 0, 2, 3, 3, 2), skip_broken=True, answers_from=1)


def test_letters_that_options_bear_are_no_part_of_them():
    borne = [f"({letter}){fruit}" for letter, fruit in zip("ABCD", FRUIT, strict=True)]
    for answer in ("C", 2, "(C)pear", [2]):
        (item,) = read_items([{"query": "Which?", "choices": borne, "gold": answer}])
        assert (item.options, item.answer) == (FRUIT, 2)
    some = read_items(
        [{"query": "Which?", "choices": borne, "gold": 2}, {"query": "What?", "choices": FRUIT, "gold": 0}]
    )
    assert left_out(some) == ("references", None)
    moved = [replace(some[0], options=tuple(some[0].options[i] for i in (2, 0, 3, 1)))]
    assert left_out(moved) == ("references",)  # whatever the printed order


def test_rows_as_the_viewer_of_a_data_set_sends_them(tmp_path):
    sent = {"features": [{"name": "question"}], "rows": [{"row_idx": 0, "row": MMLU, "truncated_cells": []}]}
    (tmp_path / "rows.json").write_text(json.dumps(sent))
    assert read_items(tmp_path / "rows.json")[0] == read_items([MMLU])[0]


def test_ids_that_are_guessed_must_be_their_own():
    rows = [{**LAYOUTS["ARC"], "id": "a"}, {**LAYOUTS["ARC"], "id": "a"}]
    assert [item.id for item in read_items(rows)] == ["0", "1"]
    with pytest.raises(InputError, match="'a' is there more than once"):
        read_items(rows, ids_key="id")


def test_what_datasets_keeps_on_disk(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    rows = [{**MMLU, "question": f"{i}?"} for i in range(4)]
    for i, (name, opened) in enumerate({"stream": arrow.ipc.new_stream, "file": arrow.ipc.new_file}.items()):
        table = arrow.Table.from_pylist(rows[2 * i : 2 * i + 2])
        path = tmp_path / f"data-0000{i}-of-00002.arrow"
        with arrow.OSFile(str(path), "wb") as sink, opened(sink, table.schema) as writer:
            writer.write_table(table)
        assert [item.question for item in read_items(path)] == [f"{2 * i}?", f"{2 * i + 1}?"], name
    (tmp_path / "state.json").write_text("{}")
    (tmp_path / "dataset_info.json").write_text('{"features": {}}')
    items = read_items(tmp_path)
    assert [item.question for item in items] == ["0?", "1?", "2?", "3?"]
    assert {item.stratum for item in items} == {"data"}  # shards are one source


def test_ways_out():
    with pytest.raises(InputError, match="`answers_from` is 2"):
        read_items(answers(1), answers_from=2)
    odd = [{"frage": "?", "links": "x", "rechts": "y", "loesung": "A", "nr": 7}]
    named = {"question_key": "frage", "options_key": ["links", "rechts"], "answer_key": "loesung", "ids_key": "nr"}
    assert read_items(odd, **named)[0] == Item("7", "?", ("x", "y"), 0)
    with pytest.raises(InputError, match="no column 'oben'"):
        read_items(odd, **{**named, "options_key": "oben"})


BOTH = [
    ({"label": "C"}, ""),
    ({"label": 2, "gold": "pear"}, ""),
    ({"label": "none of your business"}, ""),
    ({"options": ["A. apple", "B. plum", "C. pear", "D. fig"]}, ""),
    ({"candidates": list("ABCD"), "answers": ["pear"]}, ""),
    ({"label": 1}, "row 2: 'answer' is 2 and 'label' is 1, which are two options, and both columns could hold"),
    ({"options": ["plum", "apple", "pear", "fig"]}, "row 2: 'options' and 'choices' could both be the options, and"),
]


@pytest.mark.parametrize(("more", "says"), BOTH)
def test_two_columns_of_usual_names_must_agree(more, says):
    """However each is written: what counts is the option that it names."""
    rows = [{**MMLU, **more} for _ in range(2)]
    if not says:
        assert [(item.options, item.answer) for item in read_items(rows)] == [(FRUIT, 2)] * 2
        return
    same = {"label": 2, "options": list(FRUIT)}
    rows[0] |= {key: same[key] for key in more}
    for skip in (False, True):
        with pytest.raises(InputError, match=says):
            read_items(rows, skip_broken=skip)
    (key,) = more
    chosen = read_items(rows, **({"answer_key": key} if key == "label" else {"options_key": key}))
    assert (chosen[1].options, chosen[1].answer) != (FRUIT, 2)


def test_numbers_from_1_beside_letters_agree():
    rows = [{**row, "label": 1 + "ABCD".index(row["answer"])} for row in answers(*"ABDC")]
    assert [item.answer for item in read_items(rows)] == [0, 1, 3, 2]
    rows[2]["label"] = 1
    with pytest.raises(InputError, match="row 3: 'answer' is 'D' and 'label' is 1"):
        read_items(rows)


def test_strata():
    rows = [{**row, "subject": name} for name in ("law", "art") for row in one(question=f"{name}?")]
    items = read_items(rows, strata_key="subject")
    assert [item.stratum for item in items] == ["law", "art"]
    assert items.digest() != read_items(rows).digest()
    with pytest.raises(InputError, match=r"row 2 has no 'subject' \(`strata_key`\)"):
        read_items([rows[0], {**rows[1], "subject": ""}], strata_key="subject")


def test_broken_rows_are_left_out_where_that_was_asked_for():
    rows = [MMLU, *one(choices=["x", "x"]), *one(answer=None), *one(answer=9), *one(question=""), MMLU, MMLU]
    items = read_items(rows, skip_broken=True)
    assert [item.id for item in items] == ["0", "5", "6"]
    of = {"1": "options", "2": "answer", "3": "answer", "4": "question"}
    assert items.broken == {name: f"broken_{part}" for name, part in of.items()}
    assert items[:1].broken == items.broken
    with pytest.raises(InputError, match="where at least 2 are needed, and all 1 rows are broken"):
        read_items(one(choices=["x"]), skip_broken=True)
    with pytest.raises(InputError, match="seem to count from 1"):
        read_items(answers(1, 4, 2), skip_broken=True)
    with pytest.raises(InputError, match="names no option"):
        read_items(answers("pineapple", "cherry"), skip_broken=True)
    with pytest.raises(InputError, match=r"'F' .* \(and 1 more of 3 rows are broken\), too many to be left out"):
        read_items(answers("A", "F", "G"), skip_broken=True)
    pro, other = LAYOUTS["MMLU-Pro"], {**LAYOUTS["MMLU-Pro"], "answer": "D"}
    rows = [{**row, "question_id": i} for i, row in enumerate([pro, other, {**pro, "answer_index": None}, pro, pro])]
    assert read_items(rows, skip_broken=True).broken == {"1": "broken_answer", "2": "broken_answer"}


def test_numbers_beside_options_that_are_numbers():
    """They may count options, or be what an option says: which, says the column, the argument, or that one fits."""
    rows = answers(1, 0, 2, options=(2, 0, 1))
    counted = [1, 0, 2]
    assert [item.answer for item in read_items(rows, answers_from=0)] == counted
    for spelled in (int, str):
        named = [{"answer_index" if key == "answer" else key: spelled(value) if key == "answer" else value
                  for key, value in row.items()} for row in rows]  # fmt: skip
        assert [item.answer for item in read_items(named)] == counted
    for given in ((20, 30), (20.0, 30.0), ("20", "30")):
        assert [item.answer for item in read_items(answers(*given, options=(10, 20, 30)))] == [1, 2]
    assert read_items(answers(0.5, options=(0.25, 0.5)))[0].answer == 1
    assert [item.answer for item in read_items(answers(0, 1, options=(0, 1, 2)))] == [0, 1]  # both say the same


def test_true_and_false_name_options():
    for names in (("False", "True"), ("true", "false"), (False, True)):
        found = read_items(answers(True, False, options=names))
        assert [item.options[item.answer].lower() for item in found] == ["true", "false"]
