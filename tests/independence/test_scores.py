"""Audits of scores: the leak test and nothing else, whatever they come as, and every bad input told."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

import heldout
from heldout import InputError, ScoreAuditResult, Scores, audit_scores
from heldout.independence.score_inputs import gather
from heldout.statistics.leak import MARGIN_CLIP, leak_test

N, N_CONTROL = 300, 260


@pytest.fixture
def data():
    """Model and three references on test set and control; ids and classes; 45 of 300 test examples were seen."""
    rng = np.random.default_rng(7)
    hard = rng.normal(size=N + N_CONTROL)
    model = 2.0 * (hard + 0.7 * rng.standard_t(3, size=len(hard)))
    others = 2.0 * (hard + 0.7 * rng.standard_t(3, size=(3, len(hard))))
    model[:45] += 6.0
    ids = [f"q{i}" for i in range(len(hard))]
    return model, others, ids, rng.integers(0, 3, len(hard))


def split(values):
    return values[:N], values[N:]


def pairs(others):
    return [split(other) for other in others]


class TestVerdict:
    @pytest.mark.parametrize("alternative", ["two-sided", "greater"])
    @pytest.mark.parametrize("with_classes", [False, True])
    def test_equals_the_leak_test(self, data, alternative, with_classes):
        """On margins: the same p, interval and residuals to the last bit."""
        model, others, _, classes = data
        result = audit_scores(
            *split(model),
            references=pairs(others),
            kind="margin",
            classes=split(classes) if with_classes else None,
            alternative=alternative,
            n_resamples=999,
            seed=5,
        )
        direct = leak_test(
            *split(model),
            references_test=others[:, :N],
            references_control=others[:, N:],
            classes_test=classes[:N] if with_classes else None,
            classes_control=classes[N:] if with_classes else None,
            clip=MARGIN_CLIP,
            alternative=alternative,
            n_resamples=999,
            rng=np.random.default_rng(5),
        )
        assert result.leak.test == direct
        assert result.p_value == direct.p_value

    def test_outcomes(self, data):
        model, others, _, _ = data
        found = audit_scores(*split(model), references=pairs(others), kind="margin", n_resamples=999)
        assert found.outcome == "easier"
        assert (found.direction, found.ruling.rests_on) == ("easier", "scores")
        swapped = {"references": [p[::-1] for p in pairs(others)], "kind": "margin", "n_resamples": 999}
        turned = audit_scores(*split(model)[::-1], **swapped, alternative="two-sided")
        assert turned.outcome == "harder"
        one_sided = audit_scores(*split(model)[::-1], **swapped)
        assert one_sided.outcome == "no evidence"
        assert len(one_sided.notes) == 1 + len(found.notes)
        honest = audit_scores(*split(others[0]), references=pairs(others[1:]), kind="margin", n_resamples=999)
        assert honest.outcome == "no evidence"
        assert honest.clipping == "clipped to -5 to 10"

    def test_direction_only_turns_the_scores(self, data):
        """A loss is minus a score: every number of the test is the same."""
        model, others, _, _ = data
        quality = audit_scores(
            *split(model), references=pairs(others), kind="quality", larger_is="better", n_resamples=199
        )
        loss = audit_scores(*split(-model), references=pairs(-others), kind="loss", n_resamples=199)
        assert loss.leak.test == quality.leak.test
        assert [x.score for x in loss.look_seen] == [-x.score for x in quality.look_seen]
        assert [x.expected for x in loss.look_seen] == [-x.expected for x in quality.look_seen]
        assert not loss.larger_is_better
        assert loss.clipping.startswith("clipped to the 1 % and 99 % quantiles of both sets together")

    def test_clipping_does_not_know_the_sets(self, data):
        """Swapping test set and control turns the difference round and leaves p where it was, but for the draws."""
        model, others, _, _ = data
        options = {"kind": "quality", "larger_is": "better", "n_resamples": 199}
        one = audit_scores(*split(model), references=pairs(others), **options)
        other = audit_scores(*split(model)[::-1], references=[p[::-1] for p in pairs(others)], **options)
        assert other.leak.test.mean.difference == pytest.approx(-one.leak.test.mean.difference, abs=1e-12)
        assert one.clipping == other.clipping

    def test_right_and_wrong_are_not_clipped(self, data):
        model, others, _, _ = data
        marks, other_marks = (model > 0).astype(float), (others > 0).astype(float)
        result = audit_scores(*split(marks), references=pairs(other_marks), kind="correct", n_resamples=199)
        assert result.clipping == "not clipped"
        assert set(np.unique(result.leak.scores.scores)) == {0.0, 1.0}

    def test_joined_by_id(self, data):
        """A reference that holds both sets in another order, and more examples, gives the same as two arrays."""
        model, others, ids, _ = data
        rng = np.random.default_rng(0)
        test, control = (Scores(values=v, kind="margin", ids=i) for v, i in zip(split(model), split(ids), strict=True))
        references = []
        for other in others:
            order = rng.permutation(len(ids))
            values, names = [*other[order], 0.0], [*(ids[i] for i in order), "another"]
            references.append(Scores(values=values, kind="margin", ids=names))
        joined = audit_scores(test, control, references=references, n_resamples=199)
        direct = audit_scores(*split(model), references=pairs(others), kind="margin", n_resamples=199)
        assert joined.leak.test == direct.leak.test
        assert joined.ids == tuple(ids[:N])

    def test_groups(self, data):
        """Whole groups are the unit: the same numbers as the leak test with groups."""
        model, others, ids, _ = data
        groups = np.array([f"g{i // 4}" for i in range(N)]), np.array([f"h{i // 4}" for i in range(N_CONTROL)])
        result = audit_scores(*split(model), references=pairs(others), kind="margin", groups=groups, n_resamples=499)
        assert result.leak.test.mean.n_groups_test == N // 4
        named = [Scores(values=v, kind="margin", ids=i, columns={"repo": g})
                 for v, i, g in zip(split(model), split(ids), groups, strict=True)]  # fmt: skip
        column = audit_scores(*named, references=pairs(others), groups="repo", n_resamples=499)
        assert column.leak.test == result.leak.test
        assert result.to_dict()["n_groups"] == 75

    def test_equal_texts_are_one_example(self, data):
        model, _, ids, _ = data
        texts = [f"question {i // 2}" for i in range(len(ids))]
        sets = [Scores(values=v, kind="margin", ids=i, columns={"question": np.array(t)})
                for v, i, t in zip(split(model), split(ids), split(texts), strict=True)]  # fmt: skip
        result = audit_scores(*sets, n_resamples=199)
        assert result.n_repeated == N + N_CONTROL
        assert result.leak.test.mean.n_groups_test == N // 2
        again = Scores(
            values=sets[1].values, kind="margin", ids=sets[1].ids, columns={"question": np.array(texts[:N_CONTROL])}
        )
        with pytest.raises(InputError, match=r"130 texts \('question'\).* in the control too"):
            audit_scores(sets[0], again)

    def test_travels(self, data, tmp_path):
        model, others, _, classes = data
        result = audit_scores(
            *split(model), references=pairs(others), kind="margin", classes=split(classes), halves=True, n_resamples=199
        )
        result.save(tmp_path / "result")
        back = ScoreAuditResult.load(tmp_path / "result")
        assert back == result
        assert back.to_dict() == result.to_dict()
        with pytest.raises(InputError, match="holds a ScoreAuditResult, not an AuditResult"):
            heldout.AuditResult.load(tmp_path / "result")

    def test_planned_audits(self, data):
        model, others, _, _ = data
        options = {"references": pairs(others), "kind": "margin", "n_resamples": 4999}
        one = audit_scores(*split(model), **options)
        many = audit_scores(*split(model), **options, planned_audits=200)
        assert many.adjusted_p_value == pytest.approx(min(1.0, 200 * one.p_value))

    def test_what_it_assumes_is_said(self, data):
        model, others, _, _ = data
        halves = audit_scores(*split(model), kind="margin", halves=True, n_resamples=199)
        beside = audit_scores(*split(model), references=pairs(others), kind="margin", n_resamples=199)
        assert halves.assumes != beside.assumes
        for result in (halves, beside):
            assert result.assumes in result.summary().closing[0]

    @pytest.mark.slow
    def test_references_take_up_most_of_a_drift(self):
        """As docs/audit.md says: the control harder by 0.2 sd is an alarm nearly always, without references."""
        rng = np.random.default_rng(0)
        alarms = {0: 0, 3: 0}
        for _ in range(100):
            hard = rng.normal(size=2000) - np.repeat([0.0, 0.2], 1000)
            model, others = (hard + 0.5 * rng.normal(size=shape) for shape in ((2000,), (3, 2000)))
            for k in alarms:
                given = {"references_test": others[:k, :1000], "references_control": others[:k, 1000:]} if k else {}
                alarms[k] += leak_test(model[:1000], model[1000:], **given, n_resamples=199, rng=rng).p_value <= 0.05
        assert alarms[0] >= 90
        assert 5 <= alarms[3] <= 30  # 14 % measured: more than the level, and far less than without

    def test_level(self):
        """Heavy tails, unequal sizes, quantile clipping, references: at most the binomial share of alarms at 0.05."""
        rng = np.random.default_rng(3)
        alarms, runs = 0, 200
        for seed in range(runs):
            hard = rng.standard_t(2, size=260)
            model, others = (hard + rng.standard_t(2, size=shape) for shape in ((260,), (2, 260)))
            sets = gather(
                -model[:80], -model[80:], [(-o[:80], -o[80:]) for o in others], reference_names=None, kind="loss",
                larger_is=None, classes=None, groups=None, chance=None, allow_chance=False,
            )  # fmt: skip
            (test, *known), (control, *known_control), _ = sets.clipped()
            result = leak_test(
                test,
                control,
                references_test=np.stack(known),
                references_control=np.stack(known_control),
                alternative="greater",
                n_resamples=199,
                rng=np.random.default_rng(seed),
            )
            alarms += result.p_value <= 0.05
        assert binomtest(alarms, runs, 0.05, alternative="greater").pvalue > 1e-3


class TestBadInput:
    def refused(self, match, test, control, **options):
        with pytest.raises(InputError, match=match):
            audit_scores(test, control, **options)

    def test_direction(self, data):
        model, _, _, _ = data
        self.refused(r"larger score in `test` is better or worse is not declared; say .*kind=", *split(model))
        self.refused("cannot be known from its name", *split(model), kind="bleu")
        test, control = (Scores(values=v, kind="bleu", larger_is_better=s)
                         for v, s in zip(split(model), (True, False), strict=True))  # fmt: skip
        self.refused("a larger bleu is better in arrays but worse for the control", test, control)
        self.refused("are for arrays", test, test, kind="margin")

    def test_kinds(self, data):
        model, others, _, _ = data
        test, control = split(model)
        self.refused(
            "scores are margin .* those of the control are loss",
            Scores(values=test, kind="margin"),
            Scores(values=np.abs(control), kind="loss"),
        )
        other = tuple(Scores(values=np.abs(v), kind="loss") for v in split(others[0]))
        self.refused("those of the reference reference 0 are loss", test, control, references=[other], kind="margin")

    def test_lengths_and_ids(self, data):
        model, others, ids, _ = data
        test, control = split(model)
        self.refused(
            "reference 0 has 299 test scores but the model 300", test, control, kind="margin",
            references=[(others[0][: N - 1], others[0][N:])],
        )  # fmt: skip
        named = [Scores(values=v, kind="margin", ids=i) for v, i in zip((test, control), split(ids), strict=True)]
        lacking = Scores(values=others[0][1:], kind="margin", ids=ids[1:], source="a.csv", name="a")
        self.refused(r"a\.csv has no score for 1 of 300 examples, the first 'q0'", *named, references=[lacking])
        one_set = Scores(values=others[0][:N], kind="margin", ids=ids[:N], name="a")
        self.refused(
            "scores for none of the 260 control examples.*`reference_control_scores", *named, references=[one_set]
        )
        self.refused("ids are needed to join", test, control, kind="margin", references=[one_set])
        self.refused("must be Scores, or a pair", test, control, kind="margin", references=[(test,)])
        both = Scores(values=control, kind="margin", ids=ids[:N_CONTROL])
        self.refused("260 examples, such as 'q0'.*are in both test set and control", named[0], both)

    def test_references(self, data):
        model, others, _, _ = data
        self.refused("as the model itself does", *split(model), references=[split(model)], kind="margin")
        for name, same in {
            "rounded": model.round(3),
            "on another scale": 2 * model + 1,
            "bent": np.arctan(model),
        }.items():
            self.refused("as the model itself does", *split(model), references=[split(same)], kind="margin",
                         reference_names=[name])  # fmt: skip
        self.refused("points the other way", *split(model), references=[split(-others[0])], kind="margin")
        constant = np.ones(N), np.ones(N_CONTROL)
        self.refused("scores every example 1", *split(model), references=[constant], kind="margin")
        self.refused("reference 0 and reference 1 have the same scores", *split(model), kind="margin",
                     references=pairs(others[[0, 0]]))  # fmt: skip
        self.refused("2 `reference_names` for 1", *split(model), references=pairs(others[:1]), kind="margin",
                     reference_names=["a", "b"])  # fmt: skip

    def test_references_near_chance(self, data):
        """Right and wrong with the number of options known; margins, which are right above 0."""
        model, _, _, _ = data
        rng = np.random.default_rng(1)
        marks, guess = (model > 0).astype(float), (rng.random(N + N_CONTROL) < 0.25).astype(float)
        sets = split(marks)
        self.refused(r"right on 2\d\.\d % of 560 examples, no better than a guess \(25\.0 %\)", *sets, kind="correct",
                     references=[split(guess)], chance=0.25)  # fmt: skip
        options = {"kind": "correct", "references": [split(guess)], "n_resamples": 99}
        assert audit_scores(*sets, **options, chance=0.25, allow_chance=True).leak.test.n_references == 1
        noise_of_many = split((rng.random(N + N_CONTROL) < 0.25).astype(float))
        self.refused(r"no help: .*rank correlation -?0\.0\d on 560 examples.*`allow_chance", *sets,
                     kind="correct", references=[noise_of_many])  # fmt: skip
        self.refused("no better than a guess", *split(model), kind="margin", chance=0.5,
                     references=[split(rng.normal(-0.2, size=N + N_CONTROL))])  # fmt: skip
        self.refused("loss does not tell whether an answer is right", *split(np.exp(-model)), kind="loss", chance=0.5,
                     references=[split(np.exp(rng.normal(size=N + N_CONTROL)))])  # fmt: skip
        self.refused("there are none", *sets, kind="correct", chance=0.5)
        two = [Scores(values=v, kind="margin", n_options=np.full(len(v), 2.0)) for v in split(model)]
        noise = tuple(
            Scores(values=v, kind="margin", n_options=np.full(len(v), 2.0))
            for v in split(rng.normal(size=N + N_CONTROL))
        )
        self.refused(r"no better than a guess \(50\.0 %\)", *two, references=[noise])
        self.refused("`chance` is 25", *sets, **options, chance=25)

    def test_sets(self, data):
        model, _, _, classes = data
        test, control = split(model)
        self.refused("the control has 9 examples .*at least 10", test, control[:9], kind="margin")
        self.refused("every score of test set and control is 1", np.ones(20), np.ones(30), kind="correct")
        self.refused("every score of the control is 2", test, np.full(30, 2.0), kind="margin")
        self.refused("every score of the test set is 2", np.full(30, 2.0), control, kind="margin")
        marks = audit_scores(np.ones(200), np.arange(200) % 5 > 0, kind="correct", n_resamples=199)
        assert marks.outcome == "easier"  # all right is what a leak can look like
        self.refused("only the test set has classes", Scores(values=test, kind="margin", classes=classes[:N]), control)
        self.refused("share no class", test, control, kind="margin", classes=(np.zeros(N), np.ones(N_CONTROL)))
        self.refused("the shape", test[None], control, kind="margin")
        self.refused("not a finite number", np.where(np.arange(N) == 3, np.nan, test), control, kind="margin")
        self.refused("not numbers", ["a"] * N, control, kind="margin")
        groups = np.arange(N) // 3, np.arange(N_CONTROL) // 3
        self.refused("are in both test set and control", test, control, kind="margin", groups=groups)
        self.refused("the same 300 scores in the same order", test, test.copy(), kind="margin")

    def test_values(self, data):
        """What has no order, no number, or no fourth power."""
        test, control = split(data[0])
        self.refused("3 of 300 scores are masked", np.ma.masked_less(test, np.sort(test)[3]), control, kind="margin")
        self.refused("are complex", test + 1j, control, kind="margin")
        names = np.array([None, "a", "b"] * 100, dtype=object)
        self.refused(r"100 of 300 examples have no class, the first is at position 0", test, control, kind="margin",
                     classes=(names, names[:N_CONTROL]))  # fmt: skip
        mixed = np.array(["a", 1] * (N // 2), dtype=object)
        assert audit_scores(test, control, kind="margin", classes=(mixed, mixed[:N_CONTROL]), n_resamples=99)
        sizes = np.exp(np.abs(test)), np.exp(np.abs(control))
        tiny = [1e-170 * part for part in sizes]
        self.refused(
            r"nearly all scores lie between .*e-1\d\d and .*; give their logarithms", *tiny, kind="probability"
        )
        self.refused("give them on another scale", *(1e71 * part for part in sizes), kind="x", larger_is="better")
        assert (
            audit_scores(*(1e-30 * part for part in sizes), kind="probability", n_resamples=99).p_value
            == audit_scores(
                *(1e-3 * part / sizes[0].max() for part in sizes), kind="probability", n_resamples=99
            ).p_value
        )

    def test_log_likelihoods_of_the_wrong_sign(self, data):
        """One of them may be 0: a certain answer."""
        test, control = (np.abs(part) for part in split(data[0]))
        test[0] = 0.0
        self.refused("are all 0 or above, as negative log-likelihoods are", test, control, kind="log_likelihood")
        assert audit_scores(-test, -control, kind="log_likelihood", n_resamples=99)

    def test_references_of_another_version_of_the_data(self, data):
        """Logs come with what every document asks, white space aside."""
        model, others, ids, _ = data
        documents = np.array([f"text {i}" for i in ids], dtype=object)
        moved = documents.copy()
        moved[550:] = np.roll(moved[550:], 1)
        moved[0] = None  # not known
        of = {"kind": "margin", "ids": ids}
        beside = {"digest of document": np.arange(len(ids)).astype(str)}
        whole = Scores(values=model, columns={"document": documents, **beside}, **of)
        documents = np.array([f"{text} " for text in documents], dtype=object)
        sets = whole.split(ids[N:])
        others = [
            Scores(values=others[0], columns={"document": d, **beside}, name="old", **of) for d in (documents, moved)
        ]
        assert audit_scores(*sets, references=others[:1], n_resamples=99)
        told = (
            "control example 'q550' is another one for the reference old .arrays., whose 'document' is 'text q559', "
            "than for the model, whose is 'text q550', as are 9 others of 260"
        )
        self.refused(told, *sets, references=others[1:])

    def test_references_that_ask_something_else(self, data):
        """By id or by row, and by any column of texts under a usual name, as in a plain table."""
        model, others, ids, _ = data
        texts = np.array([f"What is {i}?" for i in ids], dtype=object)
        moved = np.roll(texts, 1)
        for given in (ids, None):
            sets = [
                Scores(values=model[part], kind="margin", columns={"question": texts[part]},
                       ids=None if given is None else given[part])
                for part in (slice(N), slice(N, None))
            ]  # fmt: skip
            pair = tuple(
                Scores(values=others[0][part], kind="margin", columns={"question": moved[part]}, name="old",
                       ids=None if given is None else given[part])
                for part in (slice(N), slice(N, None))
            )  # fmt: skip
            which = "'q0'" if given is not None else "0"
            self.refused(f"test example {which} is another one for the reference old", *sets, references=[pair])

    def test_options(self, data):
        model, _, _, _ = data
        self.refused("`level` is 2", *split(model), kind="margin", level=2)
        self.refused(r"no p against a control is below 0\.1", *split(model), kind="margin", n_resamples=9)
        self.refused("`seed` is -1", *split(model), kind="margin", seed=-1)
        self.refused("`seed` is None", *split(model), kind="margin", seed=None)
        self.refused("`kind` is 3", *split(model), kind=3)
        for larger_is in ("Better", "down", 1):
            self.refused("`larger_is` is", *split(model), larger_is=larger_is)
        self.refused("`groups` must be a pair", *split(model), kind="margin", groups=5)
        self.refused("`classes` must be a pair", *split(model), kind="margin", classes=5)
        self.refused("`references` is 5; give a list", *split(model), kind="margin", references=5)
        self.refused("must be Scores, or a pair", *split(model), kind="margin", references=[None])
        self.refused("one Scores; give a list", *split(model), kind="margin",
                     references=Scores(values=model, kind="margin"))  # fmt: skip
        self.refused("`reference_names` is 'a'", *split(model), kind="margin", reference_names="a")
        self.refused("alternative", *split(model), kind="margin", alternative="less")
