"""Forecasts of audits: from scores and from pictures, and that audits then find as often what was forecast."""

import json

import numpy as np
import pytest

from heldout import InputError, LabelledImages, audit_needed, audit_scores, audit_scores_needed
from heldout.images import Whole, from_arrays
from heldout.independence.margins import label_margins
from heldout.independence.needed import SHARES
from heldout.predictions.scores import Scores
from heldout.statistics import examples_needed, leak_power, leak_scores
from heldout.statistics.leak import MARGIN_CLIP
from heldout.statistics.leak_power import PULLS


def rng_of(seed):
    return np.random.default_rng(seed)


def columns(n=600, k=2, seed=0):
    rng = rng_of(seed)
    hard = 2.0 + 2.0 * rng.normal(size=n)
    x, *references = hard + rng.normal(size=(k + 1, n))
    return x, references


# ---------------------------------------------------------------- scores


def test_every_cell_is_that_of_leak_power():
    x, references = columns()
    found = audit_scores_needed(
        x, references=references, kind="margin", examples=900, level=0.02, planned_audits=2, shares=[0.03, 0.3]
    )
    scores = leak_scores(x, np.stack(references), clip=MARGIN_CLIP)
    assert (found.shares, found.pulls) == ((0.03, 0.3), PULLS)
    for i, share in enumerate(found.shares):
        for j, pull in enumerate(PULLS):
            power = leak_power(scores, share=share, pull=pull, n_test=900, n_control=600, level=0.01)
            assert found.power[i][j] == power
            enough = examples_needed(scores, share=share, pull=pull, level=0.01)
            assert found.needed[i][j] == max(enough, 3 / share)
    assert found.variance_removed == scores.variance_removed > 0.5
    assert found.reference_names == ("reference 0", "reference 1")


def test_as_printed_and_as_plain_data():
    x, references = columns()
    found = audit_scores_needed(x, references=references[:1], kind="margin")
    assert found.shares == SHARES
    chances, examples = (section.blocks[0] for section in found.summary().sections)
    assert [row.cells[0] for row in chances.rows] == ["1\xa0%", "3\xa0%", "10\xa0%", "30\xa0%"]
    for table in (chances, examples):
        assert len(table.columns) == 1 + len(PULLS)
        assert all(cell in str(found) for row in table.rows for cell in row.cells[1:])
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert len(plain["cells"]) == 12
    assert plain["cells"][5] == {
        "share": 0.03,
        "pull": 1.0,
        "power": found.power[1][2],
        "examples_needed": found.needed[1][2],
    }


def test_losses_are_turned_and_references_joined_by_ids():
    x, references = columns()
    ids = [f"q{i}" for i in range(600)]
    one = audit_scores_needed(Scores(values=-x, kind="loss", ids=ids),
                              references=[Scores(values=-references[0][::-1], kind="loss", ids=ids[::-1])])  # fmt: skip
    other = audit_scores_needed(x, references=references[:1], kind="score", larger_is="better")
    assert np.allclose(one.power, other.power)
    assert one.kind == "minus loss"


def test_groups_make_it_harder_and_few_of_them_are_noted():
    x, references = columns()
    alone = audit_scores_needed(x, references=references, kind="margin", shares=[0.1], pulls=[0.5])
    groups = np.arange(600) // 4
    together = audit_scores_needed(x, references=references, kind="margin", shares=[0.1], pulls=[0.5], groups=groups)
    assert together.n_groups == 150
    assert together.needed[0][0] > alone.needed[0][0]  # whole groups are seen, of which there are fewer
    few = audit_scores_needed(x, kind="margin", shares=[0.1, 0.3], pulls=[0.5], groups=np.arange(600) // 30)
    assert any("only 20 groups" in note for note in few.notes)
    assert np.isnan(few.power[0][0])  # of two seen groups nothing can be told
    assert not np.isnan(few.power[1][0])
    assert few.to_dict()["cells"][0]["power"] is None
    assert few.needed[0][0] >= 3 / 0.1 * 30  # three seen groups at least
    with pytest.raises(InputError, match="the control has 19 groups; a forecast needs at least 20"):
        audit_scores_needed(x, kind="margin", groups=np.arange(600) // 32)


@pytest.mark.parametrize("n_groups", [20, 30, 60])
def test_with_few_groups_power_still_grows_with_the_leak(n_groups):
    rng = rng_of(3)
    groups = np.arange(n_groups * 20) // 20
    x = rng.normal(size=n_groups)[groups] + rng.normal(size=len(groups))
    found = audit_scores_needed(x, kind="margin", groups=groups)
    for column in np.transpose(found.power):
        known = column[~np.isnan(column)]
        assert (np.diff(known) > 0).all()
        assert (known > 0.05).all()


def test_examples_with_one_text_are_one_group():
    x, _ = columns(200)
    texts = [f"question {i // 2}" for i in range(200)]
    found = audit_scores_needed(Scores(values=x, kind="margin", columns={"question": texts}))
    assert found.n_groups == 100


def test_right_or_wrong_is_said_so():
    x, references = columns()
    found = audit_scores_needed(
        (x > 1).astype(float), references=[(r > 1).astype(float) for r in references], kind="correct"
    )
    assert found.two_valued
    assert "becomes right" in found.summary().sentences[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"control": np.arange(49.0)}, "the control has 49 examples; a forecast needs at least 50"),
        ({"control": np.ones(60)}, "every score of the control is 1"),
        ({"kind": None}, "larger score in `control` is better or worse is not declared"),
        ({"references": [np.arange(5.0)]}, "the reference reference 0 has 5 control scores but the model 100"),
        ({"references": [-(np.arange(100.0) ** 2)]}, "points the other way"),
        ({"references": [np.arange(100.0)]}, "as the model itself does"),
        ({"reference_names": ["a"]}, "1 `reference_names` for 0 references"),
        ({"examples": 1}, "`examples`"),
        ({"shares": [0.0]}, "`share` is 0.0"),
        ({"pulls": [2.0]}, "`pull` is 2.0"),
        ({"level": 1.0}, "`level`"),
        ({"planned_audits": 0}, "`planned_audits`"),
        ({"alternative": "less"}, "two-sided"),
    ],
)
def test_bad_input(change, message):
    given = {"control": np.arange(100.0), "kind": "margin", **change}
    with pytest.raises(InputError, match=message):
        audit_scores_needed(given.pop("control"), **given)


def test_other_kinds_and_other_examples_are_refused():
    x, references = columns(100)
    ids = [f"q{i}" for i in range(100)]
    control = Scores(values=x, kind="margin", ids=ids)
    with pytest.raises(InputError, match="the control's scores are margin"):
        audit_scores_needed(control, references=[Scores(values=references[0], kind="log_likelihood", ids=ids)])
    other = Scores(values=references[0], kind="margin", ids=[f"p{i}" for i in range(100)])
    with pytest.raises(InputError, match="has scores for none of the 100 control examples"):
        audit_scores_needed(control, references=[other])
    right = Scores(values=(x > 0).astype(float), kind="correct", ids=ids)
    guessed = Scores(values=rng_of(0).integers(0, 2, 100).astype(float), kind="correct", ids=ids)
    with pytest.raises(InputError, match="no better than a guess"):
        audit_scores_needed(right, references=[guessed], chance=0.5)


@pytest.mark.slow
def test_audits_of_the_size_needed_find_it_four_times_in_five():
    pilot, references = columns(1500, seed=1)
    needed = audit_scores_needed(pilot, references=references, kind="margin", shares=[0.05], pulls=[0.5]).needed[0][0]
    assert 500 < needed < 5000
    found = 0
    for seed in range(150):
        x, others = columns(2 * needed, seed=10 + seed)
        seen = round(0.05 * needed)
        x[:seen] += 0.5 * np.maximum(np.quantile(x, 0.95) - x[:seen], 0.0)
        pairs = [(other[:needed], other[needed:]) for other in others]
        result = audit_scores(x[:needed], x[needed:], references=pairs, kind="margin", n_resamples=199, seed=seed)
        found += result.p_value <= 0.05
    assert 0.66 < found / 150 < 0.94


# ---------------------------------------------------------------- pictures


CLASSES, SIDE = 3, 8


def pictures(n=300, seed=0):
    rng = rng_of(seed)
    labels = rng.integers(0, CLASSES, n)
    images = rng.normal(0.5, 0.35, size=(n, SIDE, SIDE))
    for i, label in enumerate(labels):
        images[i, :, 2 * label : 2 * label + 2] += 0.1 + 0.15 * rng.random()
    return np.clip(images, 0, 1), labels


def reader(seed):
    """A model that looks for the bright columns, with weights of its own."""
    weights = np.zeros((CLASSES, SIDE, SIDE))
    for label in range(CLASSES):
        weights[label, :, 2 * label : 2 * label + 2] = 1.0
    weights += 0.6 * rng_of(seed).normal(size=weights.shape)

    def model(batch):
        x = batch.mean(axis=1) if batch.shape[1] in (1, 3) else batch.mean(axis=-1)
        return np.einsum("nhw,khw->nk", x - 0.5, weights)

    model.__qualname__ = f"reader_{seed}"
    return model


def test_pictures_with_references():
    images, labels = pictures()
    control = LabelledImages(from_arrays(images, labels), Whole())
    said = []
    found = audit_needed([reader(1)], control, references=[reader(2), reader(3)], notify=said.append)
    logits = [reader(i)(images[:, None].astype(np.float32)) for i in (1, 2, 3)]
    x, *references = (label_margins(values, labels) for values in logits)
    scores = leak_scores(x, np.stack(references), classes=labels)
    expected = leak_power(scores, share=0.1, pull=0.5, n_test=300, n_control=300, classes=labels)
    assert found.power[2][1] == pytest.approx(expected, abs=1e-4)
    assert found.kind == "margin"
    assert found.reference_names == ("reader_2", "reader_3")
    assert found.notes == []
    assert any("reader_1: accuracy" in sentence for sentence in said)


def test_pictures_without_references_forecast_the_error_rate():
    images, labels = pictures()
    control = LabelledImages(from_arrays(images, labels), Whole())
    found = audit_needed([reader(1)], control, shares=[0.5], pulls=[1.0])
    right = (reader(1)(images[:, None].astype(np.float32)).argmax(axis=1) == labels).astype(float)
    scores = leak_scores(right, classes=labels)
    expected = leak_power(
        scores,
        share=0.5,
        pull=1.0,
        n_test=300,
        n_control=300,
        classes=labels,
        level=0.025,
        tail=False,
        alternative="two-sided",
    )
    assert found.power[0][0] == pytest.approx(expected)
    assert "the error rate's half alone" in found.notes[0]
    assert found.kind == "right or wrong"


def test_repeated_pictures_are_one_group_and_limits_are_kept():
    images, labels = pictures(200)
    twice = np.concatenate([images, images[:50]]), np.concatenate([labels, labels[:50]])
    control = LabelledImages(from_arrays(*twice), Whole())
    found = audit_needed([reader(1)], control, references=[reader(2)], shares=[0.1], pulls=[0.5])
    assert (found.n_control, found.n_groups) == (250, 200)
    fewer = audit_needed([reader(1)], control, references=[reader(2)], shares=[0.1], pulls=[0.5], limit=60)
    assert fewer.n_control == 60


def test_pictures_that_cannot_be_used():
    images, labels = pictures(120)
    control = LabelledImages(from_arrays(images, labels), Whole())
    model = reader(1)
    with pytest.raises(InputError, match="as the model itself does"):
        audit_needed([model], control, references=[reader(1)])
    with pytest.raises(InputError, match=r"the reference .* disagrees with the labels"):
        audit_needed([model], control, references=[lambda batch: model(batch)[:, [1, 2, 0]]])
    with pytest.raises(InputError, match="40 pictures; a forecast needs at least 50"):
        audit_needed([model], control, limit=40)
    with pytest.raises(InputError, match="there is no model"):
        audit_needed([], control)
    with pytest.raises(InputError, match="`allow_chance"):
        audit_needed([lambda batch: model(batch)[:, [1, 2, 0]]], control)
