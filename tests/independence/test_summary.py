"""What audits say: Summary fields, every number on the page, every rendering, saving and loading."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from heldout import audit_scores, audit_scores_needed
from heldout.demo import DemoResult
from heldout.images import LabelledImages, Wrap, from_arrays
from heldout.images.oddities import Oddities
from heldout.images.preprocessing import preprocessing_text
from heldout.independence.audit import audit, audit_many
from heldout.independence.result import AuditResult, Exhibit
from heldout.independence.summary.scores import OPEN
from heldout.independence.verdict import judge
from heldout.orbit import Dihedral, HorizontalFlip, Translations
from heldout.report import Result
from heldout.statistics import holm, n_model_test
from heldout.summary import Fold, LineChart, Pictures, Points, Section, SideBySide, Table
from heldout.summary.numbers import NOT_DEFINED, fixed, p_text, percent, pvalue_text
from tests.report.browser import PHONE, look, needs_chromium
from tests.report.kitchen_sink import HOSTILE, MARKUP
from tests.report.pages import LIMIT, Page, check_drawings, check_self_contained, plain_spaces, words

Pixels = NDArray[Any]


def pictures(n: int, seed: int, *, framed: bool = True) -> tuple[Pixels, NDArray[np.int64]]:
    """Noise; if framed, with a subject at a fixed place, so that shifts are not neutral."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    images = rng.integers(0, 256, (n, 8, 8), dtype=np.uint8)
    if framed:
        images[labels == 1, 2:6, 4:] //= 3
    return images, labels


def images_of(n: int, seed: int, *, framed: bool = True, groups: bool = False) -> LabelledImages:
    source = from_arrays(*pictures(n, seed, framed=framed))
    source.class_names = [HOSTILE, "dark & right"]
    return LabelledImages(source, Wrap(), groups=[f"{seed}/{i // 5}" for i in range(n)] if groups else None)


def halves(bias: float = 0.0) -> Any:
    """Compares the two halves of a picture: honest, since it was never trained."""

    def logits(batch: Pixels) -> Pixels:
        left, right = batch[..., :4].sum((1, 2, 3)), batch[..., 4:].sum((1, 2, 3))
        return np.stack([right + bias, left], axis=1)

    return logits


def memory(known: Pixels, labels: NDArray[np.int64]) -> Any:
    """Knows the given pictures by heart, and else compares halves: a leak."""
    table = {p.astype(np.float32).tobytes(): int(y) for p, y in zip(known, labels, strict=True)}
    fallback = halves()

    def logits(batch: Pixels) -> Pixels:
        out = fallback(batch)
        for row, picture in zip(out, batch, strict=True):
            label = table.get(np.round(picture.squeeze() * 255).astype(np.float32).tobytes())
            if label is not None:
                row[:] = np.eye(2)[label] * 100
        return out

    return logits


def uneven(seed: int) -> Any:
    """Compares the halves as well, but does not see all pixels alike: a reference."""
    weights = 1.0 + 0.5 * np.random.default_rng(seed).normal(size=(8, 8))

    def logits(batch: Pixels) -> Pixels:
        return np.asarray(halves()(batch * weights))

    return logits


def all_right(batch: Pixels) -> Pixels:
    mean = batch.mean((1, 2, 3))
    return np.stack([mean - 0.5, 0.5 - mean], axis=1)


def easy(n: int, seed: int) -> LabelledImages:
    labels = np.arange(n) % 2
    noise = np.random.default_rng(seed).integers(0, 40, (n, 8, 8))
    return LabelledImages(from_arrays((np.where(labels == 0, 200, 30)[:, None, None] + noise).astype(np.uint8), labels),
                          Wrap())  # fmt: skip


def run(
    model: Any, *, n: int = 100, control: bool = False, groups: bool = False, framed: bool = True, **options: Any
) -> AuditResult:
    fresh = {"control": images_of(90, 1, groups=groups), "n_resamples": 199} if control else {}
    images = images_of(n, 0, groups=groups, framed=framed)
    return audit(model, images, **{**fresh, "orbit": Translations(1), "allow_chance": True, **options})


def known_by_heart(n: int = 100, seed: int = 0) -> Any:
    return memory(*pictures(n, seed))


def scores(part: str, **options: Any) -> Any:
    rng = np.random.default_rng(7)
    hard = rng.normal(size=300)
    model, *others = (2.0 * (hard + 0.3 * rng.normal(size=300)) for _ in range(3))
    model[:25] += 6.0
    sets = [(x[:160], x[160:]) for x in (model, *others)]
    settings = {"references": sets[1:], "kind": "margin", "n_resamples": 199, **options}
    if part == "harder":
        sets = [pair[::-1] for pair in sets]
        settings["references"] = sets[1:]
    if part == "correct":
        sets = [tuple((x > 0) * 1.0 for x in pair) for pair in sets]
        settings |= {"references": sets[1:], "kind": "correct"}
    return audit_scores(*sets[0], **settings)


def needed(**options: Any) -> Any:
    rng = np.random.default_rng(0)
    return audit_scores_needed(rng.normal(size=200), kind="margin", **options)


VARIANTS: dict[str, Callable[[], Result]] = {
    "plain": lambda: run(halves(), n=150, framed=False, sources=["test.npz"]),
    "groups": lambda: run(halves(), groups=True),
    "leaked": lambda: run(known_by_heart(), control=True),
    "honest": lambda: run(halves(), control=True, alternative="greater"),
    "harder": lambda: run(known_by_heart(90, 1), control=True),
    "many": lambda: audit_many([halves(b) for b in np.linspace(-1, 1, 14)], images_of(100, 0), orbit=Translations(1),
                               allow_chance=True),
    "random_rule": lambda: run(halves(), n=60, rule="random", tolerance=0.01),
    "perfect": lambda: audit(all_right, easy(40, 0), orbit=Translations(1)),
    "perfect_control": lambda: audit(all_right, easy(40, 0), orbit=Translations(1), control=easy(30, 1),
                                     n_resamples=99),
    "seen": lambda: run(known_by_heart(), control=True, references=[uneven(0), uneven(1)]),
    "unseen": lambda: run(halves(), control=True, references=[uneven(0)]),
    "planned": lambda: run(halves(), control=True, groups=True, planned_audits=2),
    # Noise, whose views are equally likely; a model that knows it by heart as it stands, and one that does not
    "views": lambda: run(halves(), framed=False, orbit=Dihedral()),
    "views_known": lambda: audit_many([memory(*pictures(100, 0, framed=False)), halves(1)], orbit=HorizontalFlip(),
                                      images=images_of(100, 0, framed=False, groups=True), allow_chance=True),
    "views_control": lambda: run(known_by_heart(), control=True, orbit=Dihedral(), alternative="greater"),
    "moved_views": lambda: run(halves(), framed=False, orbit=HorizontalFlip() * Translations(1)),
    "scores": lambda: scores("easier"),
    "scores_alone": lambda: scores("easier", references=(), halves=True),
    "scores_harder": lambda: scores("harder"),
    "scores_two_sided": lambda: scores("harder", alternative="two-sided"),
    "scores_correct": lambda: scores("correct"),
    "needed": needed,
    "needed_groups": lambda: needed(groups=np.arange(200) // 10, planned_audits=3),
    "demo": lambda: DemoResult(audits={"honest": made("honest"), "leaked": made("seen")}),
}  # fmt: skip
AUDITS = [name for name in VARIANTS if not name.startswith(("scores", "needed", "demo"))]


@cache
def made(name: str) -> Any:
    """Each result once; the date is fixed."""
    result = VARIANTS[name]()
    return result if isinstance(result, DemoResult) else replace(result, created="2026-01-02")


def section(result: Result, title: str) -> Section:
    return next(s for s in result.summary().sections if s.title.startswith(title))


def table(result: Result, title: str) -> Table:
    return next(block for block in section(result, title).blocks if isinstance(block, Table))


@pytest.mark.parametrize("name", VARIANTS)
def test_every_rendering(name: str, tmp_path: Any) -> None:
    result = made(name)
    page = result.html(command="heldout audit")
    check_self_contained(page)
    if name not in ("needed", "needed_groups"):
        assert len(check_drawings(page)) >= 1
    result.save(tmp_path / "result")
    again = type(result).load(tmp_path / "result")
    assert again == result
    assert (again.html(command="heldout audit"), again.markdown(), str(again)) == (page, result.markdown(), str(result))
    for text in (words(page), result.markdown(), str(result)):
        assert " nan" not in text.lower()
        assert "None" not in text.replace("None to show", "")
    if name != "demo":
        assert "2026-01-02" in words(page)
        assert result.to_dict()["created"] == "2026-01-02"


@pytest.mark.parametrize("name", AUDITS)
def test_the_answer(name: str) -> None:
    """p and what could have been found stand beside the headline; one p-value is the verdict's."""
    result = made(name)
    summary, plain = result.summary(), result.to_dict()
    assert summary.figures[0].value == pvalue_text(result.evidence.adjusted_log_p_value)
    assert any(figure.name.startswith("Detectable") for figure in summary.figures)
    assert summary.tone == ("found" if result.outcome != "no evidence" else "quiet")
    assert (summary.headline == "No evidence against independence") == (result.outcome == "no evidence")
    assert (plain["outcome"], plain["direction"]) == (result.outcome, result.ruling.direction)
    assert result.verdict.split(" ")[0].isupper()
    (chosen,) = (row for row in table(result, "Every p-value").rows if row.chosen)
    by = {
        "betting": "Betting",
        "orbit": "Orbit test",
        "T and error rate": "Test against control",
        "references": "Leak test, against",
    }
    assert str(chosen.cells[0]).startswith(by[result.ruling.rests_on])
    assert chosen.cells[1] == pvalue_text(result.evidence.adjusted_log_p_value)
    titles = [s.title for s in summary.sections if not s.title.startswith("As they stand")]
    assert titles[:4] == [
        "Two estimates of one error", "What this means", "What it does not mean", "What to do next",
    ]  # fmt: skip


@pytest.mark.parametrize("name", AUDITS)
def test_every_number_is_on_the_page(name: str) -> None:
    result = made(name)
    text, e, c = words(result.html()), result.evidence, result.evidence.control
    expected = [
        fixed(e.test_error), fixed(e.adversarial_error), fixed(e.adversarial_estimate),
        fixed(e.statistic, 5, sign=True), *(fixed(v) for interval in e.intervals.values() for v in interval),
        *(pvalue_text(v) for v in e.log_p_values.values()), *(f"{count:,}" for count in result.test.counts.values()),
        f"n = {len(result.test):,}", f"{len(result.orbit)} move", result.rule, result.orbit.name,
        *[f"radius {result.orbit.radius}"] * (not result.orbit.is_group),
        f"{e.test_error_variance:.3g}".replace("-", "−"), f"{e.adversarial_estimate_variance:.3g}".replace("-", "−"),
        result.version, result.data_digest, f"{result.evaluations:,}", "1903.02380", *result.model_names,
    ]  # fmt: skip
    if c is not None:
        expected += [
            fixed(c.statistic.difference, 5, sign=True), fixed(-c.error_rate.difference, 5, sign=True),
            p_text(c.statistic.p_greater), p_text(c.statistic.p_two_sided), p_text(c.error_rate.p_value),
            pvalue_text(c.invariance_log_p_value), fixed(c.frame_error), str(result.control_digest),
            f"T {fixed(e.statistic - c.mean_statistic, 5, sign=True)}, error rate "
            f"{fixed(e.untouched_error - c.untouched_error, 5, sign=True)}",
        ]  # fmt: skip
        if name != "perfect_control":
            expected += [fixed(v, 5, sign=True) for v in (*c.statistic.interval, *(-v for v in c.error_rate.interval))]
    if e.views is not None:
        expected += [
            fixed(e.views.expected_error), fixed(e.views.deviation), pvalue_text(e.views.log_p_greater),
            pvalue_text(e.views.log_p_two_sided), *(fixed(error) for error in e.views.view_errors),
        ]  # fmt: skip
    if result.leak is not None:
        test = result.leak.test
        expected += [
            fixed(test.mean.difference, 5, sign=True), fixed(test.sparse.difference, 5, sign=True),
            p_text(test.mean.p_two_sided), p_text(test.sparse.p_greater), p_text(result.leak.p_value),
            plain_spaces(percent(test.variance_removed, 0)), p_text(result.leak.seen.floor), *result.references,
        ]  # fmt: skip
    assert [x for x in expected if x not in text] == []
    printed = str(result)
    for value in (e.test_error, e.adversarial_error, e.adversarial_estimate):
        assert f"{value:.4f}" in printed
    assert fixed(e.statistic, 5, sign=True).replace("−", "-") in printed


def test_outcomes() -> None:
    found = {
        name: (made(name).outcome, made(name).direction) for name in ("honest", "leaked", "harder", "many", "seen")
    }
    assert found == {
        "honest": ("no evidence", None), "leaked": ("easier", "easier"), "harder": ("harder", "harder"),
        "many": ("rejected", "easier"), "seen": ("easier", "easier"),
    }  # fmt: skip
    leaked = made("leaked")
    errors = [leaked.evidence.untouched_error, leaked.evidence.control.untouched_error]
    assert [f.value for f in leaked.summary().figures[1:3]] == [percent(v) for v in errors]
    # Without a control the direction is told, and nobody is accused.
    assert "the direction of overfitting" in made("many").verdict
    towards = replace(made("many").evidence, ruling=judge(-9.0, -1.0, level=0.05, rests_on="betting"))
    other = replace(made("many"), evidence=towards)
    assert (other.direction, other.to_dict()["direction"]) == ("harder", "harder")
    assert "not the direction of overfitting" in str(other).replace("\n", " ")
    page = words(made("many").html()).lower()
    assert "not independent" not in page.replace("these p-values are not independent", "")


def test_views() -> None:
    """On a finite group the orbit test is the verdict, unless there is a control; what it rests on is told."""
    quiet, known, control = made("views"), made("views_known"), made("views_control")
    assert [r.ruling.rests_on for r in (quiet, known, control)] == ["orbit", "orbit", "T and error rate"]
    assert [r.outcome for r in (quiet, known, control)] == ["no evidence", "easier", "easier"]
    assert made("moved_views").ruling.rests_on == "betting"
    assert known.summary().headline == "Easier as they stand than in other views"
    assert control.summary().headline == "Easier than the control"
    assert known.verdict.startswith("EASIER AS THEY STAND at level 0.05: it cannot both be true")
    for result in (quiet, known):
        assert "choosing this orbit declares it" in result.verdict
        assert "digits, text" in points(result, "What it does not mean")
        assert result.evidence.p_value == math.exp(result.evidence.views.log_p_two_sided)
        assert result.to_dict()["p_values"]["orbit"] == result.p_value
        rows = table(result, "As they stand").rows
        assert len(rows) == len(result.orbit) + 2
    assert "digits" not in points(control, "What it does not mean")
    for result, opening in ((quiet, "Choosing this orbit declares"), (control, "The orbit test takes for granted")):
        likely = f"{opening} that the view in which a picture stands is one of 8 that were equally likely beforehand"
        assert likely in words(result.html())
    assert "have a usual side (text, clothes, light from one side, the orientation of a scanner)" in known.verdict
    for result in (quiet, known, control):  # no advice that would be refused, since nothing is shifted
        assert not re.search(r"--radius|--pad|--wrap|--tolerance|larger radius|neutral shifts", words(result.html()))
        assert ("`--groups`" in points(result, "What to do next")) == (
            result is quiet
        )  # groups were given, or a control
    units = [result.to_dict()["detectable_unit"] for result in (quiet, control, made("moved_views"))]
    assert units == ["error rate, over all views minus as they stand", "mean T, test minus control", "mean T"]
    (figure,) = (f for f in quiet.summary().figures if f.name == "Detectable effect")
    assert "in the error rate" in figure.note
    (shown,) = (block for block in section(known, "The most telling").blocks if isinstance(block, Pictures))
    assert shown.groups[0][2][0].startswith("mirrored left to right")
    frame = known.to_frame("models")
    assert set(frame["view"]) == {"as it is", "mirrored left to right"}
    assert known.to_frame()["error_views"].to_numpy() == pytest.approx(known.test.view_losses.mean((0, 2)))


def test_products_name_all_of_their_moves() -> None:
    result = made("moved_views")
    assert "that small shifts and mirror images are neutral" in result.verdict
    assert "neutral shifts and mirror images are an assumption" in points(result, "What it does not mean")
    rejected = replace(made("many"), orbit=result.orbit)
    assert rejected.summary().headline == "Cannot tell which fails: independence or neutral shifts and mirror images"
    assert "so shifts and mirror images seldom are quite neutral" in rejected.verdict


def test_many_models() -> None:
    result = made("many")
    groups = result.drawn.model_groups
    low, high = result.orbit.statistic_range(result.rule)
    for of in groups:
        found = n_model_test(result.test.statistics, lower=low, upper=high, group_size=of.size,
                             alternative=result.alternative, tolerance=result.tolerance, seed=result.seed)  # fmt: skip
        assert of.log_p_values == found.log_p_values
        assert sum(of.counts) == len(of.log_p_values)
    alone = groups[0].log_p_values
    assert [of.holm for of in result.drawn.models] == pytest.approx(holm([math.exp(p) for p in alone]))
    rows = table(result, "Each model alone").rows
    assert [row.cells[3] for row in rows] == [pvalue_text(p) for p in alone]
    (charts,) = [b for b in section(result, "One model against many").blocks if isinstance(b, SideBySide)]
    assert [c.series[0].y[1:] for c in charts.charts if isinstance(c, LineChart)] == [of.counts for of in groups]
    assert str(result).count("halves.<locals>.logits  ") == 10  # rows that are printed
    assert made("plain").drawn.model_groups == ()


def test_undefined_has_its_reason() -> None:
    """A detectable effect of 0 would be a plausible stand-in, and so would an interval of width 0."""
    for name in ("perfect", "perfect_control"):
        (figure,) = (f for f in made(name).summary().figures if f.name == "Detectable effect")
        assert (figure.value, "to project" in figure.note) == (NOT_DEFINED, True)
    assert math.isnan(made("perfect").evidence.detectable_effect)
    assert f"{NOT_DEFINED}: no spread" in words(made("perfect_control").html())


def test_underflow_is_shown() -> None:
    plain = made("plain")
    tiny = replace(plain.evidence, log_p_values={**plain.evidence.log_p_values, "betting": -5000.0})
    tiny = replace(tiny, ruling=judge(-5000.0, 1.0, level=0.05, rests_on="betting"))
    summary = replace(plain, evidence=tiny).summary()
    assert summary.figures[0].value == pvalue_text(-5000.0)
    assert summary.tone == "found"


def test_pictures_that_look_seen() -> None:
    seen, unseen = made("seen"), made("unseen")
    assert seen.leak.seen.n_listed > 24 == len(seen.seen_pictures)
    assert len(seen.look_seen) == seen.leak.seen.n_listed
    assert len(unseen.seen_pictures) == 6
    assert unseen.look_seen == ()
    for result in (seen, unseen):
        blocks = section(result, "Pictures that look seen").blocks
        folded = [b.blocks[0] for b in blocks if isinstance(b, Fold)]
        shown = [group for b in (*blocks, *folded) if isinstance(b, Pictures) for group in b.groups]
        assert [group[1][0].pixels.tolist() for group in shown] == [x.picture.tolist() for x in result.seen_pictures]
        assert [group[2][0] for group in shown] == [f"example {x.id}" for x in result.seen_pictures]
        # The leak test looks for an easier test set unless told otherwise; T and the error rate look both ways.
        plain = result.to_dict()
        assert (plain["verdict_alternative"], plain["alternative"]) == ("greater", "two-sided")
        assert plain["p_value"] == plain["control"]["leak"]["p_greater"]
    assert "Against references" not in words(made("leaked").html())


def test_warnings() -> None:
    """Few groups; a harder test set, which a one-sided verdict does not look for."""
    assert made("unseen").notes == []
    assert len(made("groups").notes) == 1
    assert len(made("planned").notes) == 2
    harder = made("scores_harder")
    assert harder.outcome == "no evidence"
    assert harder.summary().warnings == tuple(harder.notes)
    assert len(harder.notes) == 1 + len(made("scores_two_sided").notes)
    assert made("scores_two_sided").outcome == "harder"


def test_what_the_verdict_is_about() -> None:
    """With references nothing is moved for it; beside both estimates of one error stands the control's T."""
    for name, shifted in (("leaked", True), ("seen", False)):
        result = made(name)
        assert ("shifts of so few pixels" in words(result.html())) == shifted
        control = result.evidence.control
        assert control is not None
        beside = f"on the control, moved in the same way, by {fixed(control.mean_statistic, 5, sign=True)}"
        assert beside in words(result.html())


def test_chance_on_one_set_is_told() -> None:
    chance = replace(made("many"), at_chance=("test", "control"))
    test, control = (note for note in chance.notes if "better than chance" in note)
    assert test.startswith("On the test set")
    assert control.startswith("On the control")
    assert ["by heart" in note for note in (test, control)] == [False, True]
    assert all("an honest model be on few pictures" in note for note in (test, control))


def test_what_files_hold_besides_is_told() -> None:
    odd = replace(made("leaked"), oddities=(Oddities(100, turned=3), Oddities(90, transparent=1, pages=2)))
    told = [note for note in odd.notes if " pictures of the " in note]
    assert ["100" in note and "test set" in note for note in told] == [True, False, False]
    assert "1 of 90 pictures of the control is transparent" in words(odd.html())


def test_a_limited_run_says_so() -> None:
    limited = run(halves(), control=True, limit=80)
    told = ["Limited to 80 of 100 pictures of the test set, drawn at random.",
            "Limited to 80 of 90 pictures of the control, drawn at random."]  # fmt: skip
    assert [note for note in limited.notes if note.startswith("Limited")] == told
    for text in (words(limited.html()), limited.markdown(), str(limited)):
        assert all(sentence in text for sentence in told)


def test_scores() -> None:
    result = made("scores")
    summary, text = result.summary(), words(result.html())
    assert result.outcome == "easier"
    assert summary.figures[0].value == p_text(result.adjusted_p_value)
    assert [row.cells[0] for row in table(result, "Examples that look seen").rows] == [x.id for x in result.look_seen]
    assert table(result, "Examples that look seen").rows_open == OPEN  # a long list hides nothing that stands below it
    assert len(result.look_seen) == result.leak.seen.n_listed > 0
    for number in (fixed(result.mean_test, 3), fixed(result.mean_control, 3),
                   fixed(result.leak.test.mean.difference, 5, sign=True), p_text(result.leak.test.sparse.p_two_sided),
                   *(fixed(v, 5, sign=True) for v in result.leak.test.mean.interval), *result.references,
                   result.digests["test"], *(s.strip("`") for s in result.sources)):  # fmt: skip
        assert number in text, number
    assert "References" not in dict(made("scores_alone").summary().lines)
    lines = dict(made("scores_correct").summary().lines)
    assert "becomes right" in lines["Detectable leak"]


def test_verdicts_say_what_they_rest_on() -> None:
    """The sentences that must not be lost, whatever their words."""
    assert "--control" in made("plain").verdict
    assert "not overfitting" in made("harder").verdict
    assert "not overfitting" in made("scores_two_sided").verdict
    assert "If the control is a random draw" in made("leaked").verdict
    assert "If the control is a random draw" in made("seen").verdict
    assert "planned audits" in made("planned").verdict
    for name in ("plain", "honest", "unseen", "scores_harder"):
        assert "would have been found" in made(name).verdict
    assert "nothing but exposure" in made("scores_alone").assumes


def points(result: Any, title: str) -> str:
    (block,) = section(result, title).blocks
    assert isinstance(block, Points)
    return "\n".join(block.items)


def test_a_detectable_leak_keeps_its_condition() -> None:
    rng = np.random.default_rng(0)
    small = audit_scores(rng.normal(size=30), rng.normal(size=30), kind="margin", n_resamples=199)
    assert [math.isnan(found.share) for found in small.leak.detectable] == [True, False, False]
    (figure,) = (f for f in small.summary().figures if f.name == "Detectable leak")
    for text in (small.verdict, figure.note):
        assert "if a seen example gains at least 50 % of what it can" in plain_spaces(text)
    assert "gains at least" not in made("unseen").verdict
    none = tuple(replace(found, share=math.nan) for found in small.leak.detectable)
    never = replace(small, leak=replace(small.leak, detectable=none))
    assert "gains at least" not in never.verdict
    assert "half as large" in points(small, "What to do next")
    assert "half as large" not in points(never, "What to do next")


def test_planned_audits_are_counted_wherever_p_is() -> None:
    alone = run(halves(), n=60, planned_audits=3)
    for result in (alone, run(halves(), control=True, references=[uneven(0)], planned_audits=3), made("planned")):
        (chosen,) = (row for row in table(result, "Every p-value").rows if row.chosen)
        assert chosen.cells[1] == pvalue_text(result.ruling.log_p_value)
        assert chosen.role == f"the verdict, times {result.evidence.planned_audits} planned audits"
        assert "--planned-audits" not in points(result, "What it does not mean")
    assert alone.evidence.adjusted_p_value > 1.5 * alone.evidence.p_value
    assert "--planned-audits" in points(made("scores"), "What it does not mean")


def test_advice_that_applies() -> None:
    follow = {name: points(made(name), "What to do next") for name in VARIANTS if not name.startswith(("need", "demo"))}
    assert [name for name, text in follow.items() if "both sets" in text] == [
        "honest", "unseen", "planned", "scores_harder"
    ]  # fmt: skip
    assert [name for name, text in follow.items() if "(600 instead of 150)" in text] == ["plain"]
    assert [name for name, text in follow.items() if "larger radius" in text] == ["perfect", "perfect_control"]
    assert [name for name, text in follow.items() if "half as large" not in text and "radius" in text] == [
        "perfect", "perfect_control"
    ]  # fmt: skip
    listed = [name for name, text in follow.items() if "look seen first" in text]
    assert listed == [name for name in ("seen", "scores", "scores_alone", "scores_correct") if name in listed]
    assert all(made(name).leak.seen.n_listed for name in listed)
    assert "seen" in listed
    # A reference is blamed only where there is one.
    assert "a reference that knows" in made("scores_two_sided").verdict
    assert "reference" not in made("harder").verdict
    assert "no reference" not in follow["harder"] + points(made("leaked"), "What this means")
    assert "no reference" in follow["scores_two_sided"]
    assert "It does not say whether there is overfitting" in points(made("many"), "What it does not mean")


def test_what_was_tested_without_a_control() -> None:
    plain, tolerant = made("plain"), made("random_rule")
    one_sided = run(halves(), n=60, alternative="greater", tolerance=0.01)
    looks = {"two-sided": plain, "two-sided (mean T further than 0.01 from zero)": tolerant,
             "one-sided (mean T above 0.01)": one_sided}  # fmt: skip
    for side, result in looks.items():
        assert result.summary().figures[0].note.startswith(f"{side}; ")
        assert f"betting, {side}, n" in result.verdict
    told = [dict(result.summary().lines)["Alternative"] for result in looks.values()]
    assert told == [*[*looks][:2], "one-sided (mean T above 0.01); declared beforehand"]
    assert dict(made("honest").summary().lines)["Alternative"] == "one-sided (easier); declared beforehand"
    notes = {
        name: next(f.note for f in made(name).summary().figures if f.name == "Mean T") for name in ("plain", "groups")
    }
    assert ["group" in note for note in notes.values()] == [False, True]


def test_each_half_has_its_own_detectable_effect() -> None:
    honest = made("honest")
    still = replace(honest.evidence.control.statistic, standard_error=0.0)
    half = replace(honest, evidence=replace(honest.evidence, control=replace(honest.evidence.control, statistic=still)))
    error = fixed(honest.evidence.control.detectable_error.low)
    assert "in mean T not defined (" in half.verdict
    assert f", in the error rate {error}" in half.verdict
    (figure,) = (f for f in half.summary().figures if f.name == "Detectable effect")
    assert (figure.value, error in figure.note) == (NOT_DEFINED, True)
    assert "half as large" in points(half, "What to do next")
    assert made("perfect_control").verdict.count(NOT_DEFINED) == 2


def test_an_average_of_models_is_called_one() -> None:
    assert "easier for the 14 models, averaged, than" in made("many").verdict
    assert "the model " not in made("many").verdict
    both = audit_many([known_by_heart()] * 2, images_of(100, 0), orbit=Translations(1), control=images_of(90, 1),
                      n_resamples=199, allow_chance=True)  # fmt: skip
    assert "is easier for the 2 models, averaged, than" in both.verdict
    assert "the model " not in both.verdict


def test_p_values_are_printed_with_their_limits() -> None:
    assert "only orders results" in str(made("plain"))
    assert "only the comparison" not in str(made("plain"))
    assert "only the comparison with it counts" in str(made("leaked")).replace("\n", " ")


def test_no_list_says_why() -> None:
    rng = np.random.default_rng(0)
    x, groups = rng.normal(size=120), np.arange(120) // 6
    other = audit_scores(x[:60], x[60:], kind="margin", groups=(groups[:60], 100 + groups[60:] // 2),
                         n_resamples=199)  # fmt: skip
    assert other.leak.seen.fewest is None
    seen = dict(other.summary().lines)["Examples that look seen"]
    assert seen == "no list (groups have other sizes in the control)"
    few = replace(made("scores").leak.seen, fewest=None, floor=0.2)
    few = replace(made("scores"), leak=replace(made("scores").leak, seen=few))
    assert dict(few.summary().lines)["Examples that look seen"] == "no list (smallest p with this control: 0.2)"


def test_a_verdict_of_the_tail_alone_says_so() -> None:
    result = made("scores")
    mean = replace(result.leak.test.mean, p_greater=0.3)
    tail = replace(result, leak=replace(result.leak, test=replace(result.leak.test, mean=mean)))
    assert [", by its upper tail alone)" in of.verdict for of in (result, tail)] == [False, True]


@pytest.mark.parametrize("name", VARIANTS)
def test_names_of_facts_have_capitals(name: str) -> None:
    result = made(name)
    if name == "demo":
        return
    assert [fact for fact, _ in result.summary().lines if not fact.strip()[0].isupper()] == []


def test_data_are_called_by_their_file() -> None:
    result = replace(made("leaked"), sources=("some/where/test.npz", "else/fresh.npz"))
    summary = result.summary()
    assert "some/where" not in summary.subject
    assert "test.npz" in summary.subject
    assert ("Test set", "some/where/test.npz") in summary.origin
    scored = replace(made("scores"), sources=("a/b/x.jsonl", "a/b/y.jsonl")).summary()
    assert "a/b" not in scored.subject + str(scored.lines)
    assert ("Control", "a/b/y.jsonl") in scored.origin


def test_demo() -> None:
    demo = made("demo")
    summary = demo.summary()
    assert list(demo.to_dict()) == ["honest", "leaked"]
    assert [(part.kind, part.tone) for part in summary.parts] == [("honest", "quiet"), ("leaked", "found")]
    rows = {str(row.cells[0]): row.cells[1:] for row in table(demo, "The models").rows}
    audits = demo.audits.values()
    assert rows["verdict"] == ("NO EVIDENCE", "EASIER THAN THE CONTROL")
    assert rows["verdict p"] == tuple(pvalue_text(a.evidence.log_p_value) for a in audits)
    assert rows["test error"] == tuple(fixed(a.evidence.untouched_error) for a in audits)
    assert rows["leak test p"][0] == "no reference"
    assert "different settings" in str(demo)  # one of the two is one-sided
    assert "Two estimates" not in str(demo)  # only the comparison is printed
    assert "Two estimates of one error" in Page(demo.html()).headings


def test_hostile_names() -> None:
    plain = made("plain")
    exhibits = tuple(replace(x, id=f'"><img src=x onerror=alert(1)>{HOSTILE}\udcff') for x in plain.exhibits)
    hostile = replace(plain, exhibits=exhibits, model_names=(HOSTILE,), preprocessing={"frame": HOSTILE},
                      sources=(HOSTILE,))  # fmt: skip
    for page in (hostile.html(command=f"heldout {HOSTILE}"), DemoResult(audits={HOSTILE: hostile}).html()):
        check_self_contained(page)
        assert "<script" not in page.lower()
        assert MARKUP in words(page)
        assert all("onerror" not in a for _, a in Page(page).tags)
    assert "<script" not in hostile.markdown()


def test_the_page_is_never_large() -> None:
    """Two audits with twelve pairs each of large colour noise, which no PNG can shrink."""
    rng = np.random.default_rng(0)
    noise = [rng.integers(0, 256, (224, 224, 3), dtype=np.uint8) for _ in range(2)]
    exhibit = Exhibit(
        id="x", label=0, predicted=0, moved_predicted=1, move=(3, 1), weight=0.5, original=noise[0], moved=noise[1]
    )
    large = replace(made("plain"), exhibits=(exhibit,) * 12)
    assert 1_000_000 < len(DemoResult(audits={"a": large, "b": large}).html().encode()) < LIMIT


def test_a_loaded_result_needs_no_model(tmp_path: Any) -> None:
    made("seen").save(tmp_path / "result")
    code = (
        "import sys; from heldout import AuditResult\n"
        f"r = AuditResult.load({str(tmp_path / 'result')!r}); print(r); r.markdown(); r.html(); r.to_dict()\n"
        "assert not {'torch', 'onnxruntime', 'matplotlib'} & set(sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == str(made("seen"))


def test_nothing_is_computed_when_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test, interval, histogram or bootstrap: what draws or permutes is gone."""
    result, many = made("seen"), made("many")

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("computed")

    for name in ("histogram", "quantile"):
        monkeypatch.setattr(np, name, refuse)
    for name in ("default_rng", "Generator"):
        monkeypatch.setattr(np.random, name, refuse)
    for module in [m for n, m in sys.modules.items() if n.startswith("heldout.") and ".independence." in n]:
        for name in ("n_model_test", "independence_test", "control_test", "error_interval", "bernstein_interval"):
            monkeypatch.setattr(module, name, refuse, raising=False)
    assert result.html()
    assert result.to_dict()
    assert str(many)


def test_words_for_what_is_done_to_a_picture() -> None:
    crop = {"frame": "crop", "size": 24, "resize": None, "interpolation": "bilinear", "new": 3}
    assert preprocessing_text(crop) == "crop 24; new 3"
    assert "crop translations" in words(replace(made("leaked"), preprocessing=crop).html())
    assert "cyclic translations" in words(made("leaked").html())


@needs_chromium
@pytest.mark.parametrize(
    "name", ["seen", "demo", *(pytest.param(n, marks=pytest.mark.slow) for n in ("many", "scores"))]
)
def test_it_fits_a_phone(name: str, tmp_path: Any) -> None:
    page = made(name).html(command="heldout audit " + "very-long-path/" * 20)
    found = look(page, tmp_path)
    assert (found["client"], found["scroll"], found["wide"], found["broken"]) == (PHONE, PHONE, [], 0)
    assert set(found["cut"]) <= {0}  # every column can be seen without scrolling  # type: ignore[call-overload]
    assert float(str(found["largest"])) <= 120
    assert float(str(found["smallest"])) >= 7
    assert not re.search(r"\d %", page)  # numbers keep their percent sign
