"""The page holds every number, loads nothing, and cannot be broken out of."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from heldout.errors import InputError
from heldout.independence.result import AuditResult, Exhibit, pvalue_text
from heldout.independence.verdict import range_text
from heldout.pages import audit_html, comparison_table, demo_html, write_audit_report, write_demo_report
from heldout.pages.audit.comparison import DEMO_PICTURES
from heldout.pages.audit.curve import curve_sizes
from heldout.pages.audit.exhibits import FIRST_EXHIBITS, PICTURE_SIDE, picture_uri
from heldout.pages.audit.origin import preprocessing_text
from heldout.pages.audit.words import verdict_sentence, verdict_word
from heldout.pages.numbers import NOT_DEFINED, fixed, p_text, percent
from heldout.statistics import holm
from tests.report.audit.conftest import HOSTILE
from tests.report.pages import LIMIT, Page, check_drawings, check_self_contained, plain_spaces, words


def test_self_contained(result: AuditResult) -> None:
    check_self_contained(audit_html(result, command="heldout audit model.onnx"))


def test_verdict_first(result: AuditResult) -> None:
    html = audit_html(result)
    text = words(html).strip()
    assert text.startswith("Verdict")
    assert Page(html).headings[0] in text[:120]
    assert text.index(plain_spaces(verdict_sentence(result))) < 200
    # every verdict word has its number: p and what could have been detected stand in the same box
    box = words(html[html.index("<main>") : html.index("</section>")].replace("<main>", "") + "</section>")
    assert f"p-value{pvalue_text(result.evidence.log_p_value)}" in box.replace(" ", "")
    assert ("Detectable effect" if result.leak is None else "four times in five") in box
    assert verdict_word(result) in ("NO EVIDENCE", "EASIER THAN THE CONTROL", "HARDER THAN THE CONTROL", "REJECTED")
    assert verdict_word(result) not in box  # in words, and once
    title = Page(html).headings[0]
    assert ("No evidence" in title) == (result.p_value > 0.05)
    assert ("Easier than the control" in title) == (result.outcome == "easier")
    assert "not independent" not in box.lower()
    headings = Page(html).headings
    assert headings[1:5] == [
        "Two estimates of one error", "What this means", "What it does not mean", "What to do next",
    ]  # fmt: skip


def test_what_was_found_stands_large(leaked: AuditResult, many: AuditResult, honest: AuditResult) -> None:
    def large(result: AuditResult) -> list[str]:
        html = audit_html(result)
        box = html[html.index("<main>") : html.index("</section>")]
        return [plain_spaces(v) for v in re.findall(r"<strong>(.*?)</strong>", box)]

    assert leaked.control is not None
    errors = [percent(leaked.evidence.untouched_error), percent(leaked.evidence.control.untouched_error)]
    assert large(leaked) == [*map(plain_spaces, errors), pvalue_text(leaked.evidence.log_p_value)]
    assert large(many) == [fixed(many.evidence.statistic, sign=True), pvalue_text(many.evidence.log_p_value)]
    assert large(honest)[1] == range_text(honest.evidence.detectable)
    assert large(honest)[2] == range_text(honest.evidence.control.detectable_error)  # both halves of the test


def test_rejected_without_a_control_accuses_nobody(many: AuditResult) -> None:
    assert verdict_word(many) == "REJECTED"
    html = audit_html(many)
    assert Page(html).headings[0].startswith("Cannot tell which fails")
    assert "not independent" not in words(html).replace("these p-values are not independent", "").lower()
    assert re.search(r"<code>--control</code>", html)


def test_all_numbers(result: AuditResult) -> None:
    text = words(audit_html(result, command="heldout audit --seed 0", extra=[("Source", "two & three")]))
    e = result.evidence
    expected = [
        fixed(e.test_error), fixed(e.adversarial_error), fixed(e.adversarial_estimate),
        fixed(e.statistic, 5, sign=True),
        *(fixed(v) for interval in e.intervals.values() for v in interval),
        *(pvalue_text(v) for v in e.log_p_values.values()),
        *(f"{count:,}" for count in result.test.counts.values()),
        f"n = {len(result.test):,}", f"radius {result.orbit.radius}", result.rule, result.orbit.name,
        f"{e.test_error_variance:.3g}".replace("-", "−"), f"{e.adversarial_estimate_variance:.3g}".replace("-", "−"),
        result.version, result.data_digest, f"{result.evaluations:,}", "heldout audit --seed 0", "two & three",
        "arXiv:1903.02380", "What this means", "What it does not mean", "What to do next",
    ]  # fmt: skip
    if e.control is not None and result.control is not None:
        c = e.control
        expected += [
            fixed(c.statistic.difference, 5, sign=True), *(fixed(v, 5, sign=True) for v in c.statistic.interval),
            fixed(-c.error_rate.difference, 5, sign=True), *(fixed(-v, 5, sign=True) for v in c.error_rate.interval),
            p_text(c.statistic.p_greater), p_text(c.statistic.p_two_sided), p_text(c.error_rate.p_value),
            pvalue_text(c.invariance_log_p_value), fixed(float(result.control.losses.mean())),
            str(result.control_digest), "Against the control",
        ]  # fmt: skip
    else:
        assert "Against the control" not in text
        assert "heldout split" in text
    for name in result.model_names:
        assert name in text
    missing = [x for x in expected if x not in text]
    assert not missing
    assert " nan" not in text.lower()
    assert "None" not in text.replace("None to show", "")


def test_one_verdict_among_the_p_values(result: AuditResult) -> None:
    html = audit_html(result)
    chosen = re.findall(r'<tr class="chosen">.*?</tr>', html, flags=re.S)
    assert len(chosen) == 1
    names = {
        "betting": "Betting", "T and error rate": "Test against control", "references": "Leak test, against references",
    }  # fmt: skip
    assert names[result.evidence.verdict_by] in chosen[0]
    assert f">{pvalue_text(result.evidence.log_p_value)}<" in chosen[0]
    assert "smallest of several p-values is not a p-value" in words(html)


def test_drawings_are_well_formed(result: AuditResult) -> None:
    assert len(check_drawings(audit_html(result))) >= 3


def test_same_result_same_bytes(leaked: AuditResult, tmp_path: Path) -> None:
    leaked.save(tmp_path / "audit")
    again = AuditResult.load(tmp_path / "audit")
    assert audit_html(leaked, command="x") == audit_html(again, command="x")


def test_hostile_names(hostile: AuditResult, tmp_path: Path) -> None:
    path = write_audit_report(hostile, tmp_path / "new", command=f"heldout {HOSTILE}")
    html = path.read_text(encoding="utf-8")
    assert "<script" not in html.lower()
    assert "<img src=x" not in html
    assert HOSTILE in words(html)
    assert "onerror" in words(html)  # shown as text, not swallowed
    assert all("onerror" not in a for _, a in Page(html).tags)
    assert "<script" not in demo_html({HOSTILE: hostile}).lower()


def test_undefined_has_its_reason(perfect: AuditResult, perfect_control: AuditResult) -> None:
    assert math.isnan(perfect.evidence.detectable_effect)
    text = words(audit_html(perfect))
    assert f"Detectable effect{NOT_DEFINED}because no example has a positive T" in text.replace("effect ", "effect")
    assert "every T is zero" in text
    assert f"{len(perfect.T)} have T = 0" in text
    # With a control and no spread at all, a detectable effect of 0 would be a plausible stand-in,
    # and so would an interval of width 0.
    assert f"{NOT_DEFINED}: no spread" in words(audit_html(perfect_control))
    assert f"effect{NOT_DEFINED}because no T varies" in words(audit_html(perfect_control)).replace("effect ", "effect")


def test_underflow_is_shown(plain: AuditResult) -> None:
    tiny = replace(plain.evidence, log_p_values={**plain.evidence.log_p_values, "betting": -5000.0})
    text = words(audit_html(replace(plain, evidence=tiny)))
    assert pvalue_text(-5000.0) in text
    assert "Cannot tell which fails" in text


def test_many_models(many: AuditResult, plain: AuditResult) -> None:
    text = words(audit_html(many))
    for size in (1, 2):
        p = many.n_model_test(size).p_values
        assert f"{sum(v <= 0.05 for v in p)} of {len(p)} at or below 0.05" in text
    assert "One model against many" in text
    assert "(× 8)" in text
    assert text.count("averaged: trainings of one architecture") == 2
    rows = re.findall(r'<tr><th scope="row">[^<]*logits</th>(.*?)</tr>', audit_html(many))
    alone = many.n_model_test(1).log_p_values
    adjusted = holm([math.exp(p) for p in alone])
    assert len(rows) == 8
    assert "is not adjusted for the 8 models" in text
    for i, row in enumerate(rows):
        error, mean = float(many.test.losses[i].mean()), float(many.test.statistics[i].mean())
        expected = [fixed(error), fixed(mean, 5, sign=True), pvalue_text(alone[i]), p_text(adjusted[i])]
        assert re.findall(r">([^<]+)</td>", row) == expected
    assert "One model against many" not in words(audit_html(plain))


def test_random_rule_has_no_pictures(random_rule: AuditResult) -> None:
    html = audit_html(random_rule)
    assert "<img" not in html
    assert "averages over moves and chooses none" in words(html)
    assert "shifts may cost up to 0.01 on average" in words(html)


def test_exhibits(plain: AuditResult) -> None:
    html = audit_html(plain)
    assert html.count("<img") == 2 * len(plain.exhibits) > 0
    text = words(html)
    assert html[: html.index("<summary>6 more")].count("<img") == 2 * FIRST_EXHIBITS
    assert fixed(plain.exhibits[0].weight, 3) in text
    assert all(f"example {x.id}" in text for x in plain.exhibits)


@pytest.mark.parametrize("shape", [(8, 8, 1), (500, 400, 3), (30, 30, 4), (20, 5, 2), (9, 9)])
def test_pictures(shape: tuple[int, ...]) -> None:
    import base64
    import io

    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    uri = picture_uri(pixels)
    image = Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2])))
    assert max(image.size) <= PICTURE_SIDE
    if max(shape[:2]) <= PICTURE_SIDE:
        shown = np.asarray(image).reshape(*shape[:2], -1)
        assert np.array_equal(shown, pixels.reshape(*shape[:2], -1)[:, :, : shown.shape[2]])


def test_size_bound(plain: AuditResult) -> None:
    """Two audits with twelve pairs each of large colour noise, which no PNG can shrink."""
    rng = np.random.default_rng(0)
    noise = [rng.integers(0, 256, (224, 224, 3), dtype=np.uint8) for _ in range(2)]
    exhibit = Exhibit(
        id="x", label=0, predicted=0, moved_predicted=1, move=(3, 1), weight=0.5, original=noise[0], moved=noise[1]
    )
    large = replace(plain, exhibits=(exhibit,) * 12)
    assert 1_000_000 < len(demo_html({"a": large, "b": large}).encode()) < LIMIT


def test_comparison(honest: AuditResult, leaked: AuditResult, plain: AuditResult) -> None:
    table = comparison_table({"honest": honest, "leaked": leaked})
    assert table.isascii()
    lines = table.splitlines()
    assert [line[:20].strip() for line in lines[:13]] == [
        "", "verdict", "verdict p", "test error", "control error", "adversarial error", "adversarial estimate",
        "mean T", "betting p", "Bernstein p", "control p (T)", "control p (error)", "detectable effect",
    ]  # fmt: skip
    assert lines[0].split() == ["honest", "leaked"]
    assert lines[1].endswith("NO EVIDENCE  EASIER THAN THE CONTROL")
    assert lines[2].split()[-2:] == [pvalue_text(r.evidence.log_p_value) for r in (honest, leaked)]
    assert lines[3].split()[-2:] == [f"{r.evidence.untouched_error:.4f}" for r in (honest, leaked)]
    assert " ".join(lines[13:]).strip() == DEMO_PICTURES
    assert len(comparison_table({"honest": honest}, pictures=None).splitlines()) == 13
    assert "no control" in comparison_table({"plain": plain})
    with pytest.raises(InputError, match="nothing to compare"):
        demo_html({})


def test_demo_page(honest: AuditResult, leaked: AuditResult, tmp_path: Path) -> None:
    path = write_demo_report({"honest": honest, "leaked": leaked}, tmp_path, command="heldout demo")
    html = path.read_text(encoding="utf-8")
    page = Page(html)
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    text = words(html)
    for result in (honest, leaked):
        assert plain_spaces(verdict_sentence(result)) in text
    table = html[: html.index("honest: verdict")]
    for line in comparison_table({"honest": honest, "leaked": leaked}, pictures=None).splitlines()[1:]:
        for cell in re.split(r"\s{2,}", line):
            assert f">{cell.replace('-0', '−0')}<" in unescape(table), cell
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    # the verdicts, then what it shows and on what, then the table
    assert leaked.control is not None
    errors = [percent(v) for v in (leaked.evidence.untouched_error, leaked.evidence.control.untouched_error)]
    opening = [
        "No evidence against independence", "Easier than the control",
        plain_spaces(f"leaked had the test set in its training data: {errors[0]} errors on the test set, {errors[1]} "
                     "on fresh pictures; the audit finds it."),
        DEMO_PICTURES, "NO EVIDENCE", "verdict p",
    ]  # fmt: skip
    places = [text.index(part) for part in opening]
    assert places == sorted(places)
    assert "Fashion-MNIST" not in demo_html({"a": honest}, pictures=None)
    assert "different settings" in text  # one of the two is one-sided
    assert "The same data and the same audit" in words(demo_html({"a": leaked, "b": leaked}))


def test_against_references(seen: AuditResult, unseen: AuditResult, leaked: AuditResult) -> None:
    """The leak test, marked as the verdict, and the pictures that look seen."""
    assert "Against references" not in words(audit_html(leaked))
    assert leaked.leak is None
    for result in (seen, unseen):
        leak = result.leak
        assert leak is not None
        html = audit_html(result)
        page, text = Page(html), words(html)
        assert "Against references" in page.headings
        assert "Pictures that look seen" in page.headings
        section = text[text.index("Against references") : text.index("Against the control")]
        for number in (
            fixed(leak.test.mean.difference, 4, sign=True), fixed(leak.test.sparse.difference, 4, sign=True),
            p_text(leak.test.mean.p_two_sided), p_text(leak.test.sparse.p_greater), p_text(leak.p_value),
            plain_spaces(percent(leak.test.variance_removed, 0)), p_text(leak.seen.floor),
        ):  # fmt: skip
            assert number in section, number
        assert "declared beforehand, by giving references" in section
        assert "Not the verdict. Without references these two would be" in text
        chosen = re.search(r'<tr class="chosen"><th scope="row">([^<]*)<span class="role">the verdict', html)
        assert chosen is not None
        assert chosen[1] == "Leak test, against references"
        assert result.seen_pictures
        for shown in result.seen_pictures:
            assert picture_uri(shown.picture) in html
            told = f"margin {fixed(shown.margin, 1, sign=True)}, expected {fixed(shown.expected, 1, sign=True)}"
            assert told in section
            assert f"example {shown.id}" in section
    assert seen.leak is not None
    assert seen.leak.seen.n_listed > 24 == len(seen.seen_pictures)
    text = words(audit_html(seen))
    assert f"{seen.leak.seen.n_listed:,} pictures of 150 pictures are listed" in text
    assert "The 24 most suspicious are shown" in text
    assert "Look through the pictures below that look seen" in text
    assert "not significant" not in text[text.index("Pictures that look seen") : text.index("Against the control")]
    assert len(unseen.seen_pictures) == 6
    assert "These 6 are the most suspicious, and not significant" in words(audit_html(unseen))
    assert "Detectable leak" in words(audit_html(unseen))


def test_page_and_json_agree_on_the_side(seen: AuditResult, unseen: AuditResult) -> None:
    """The leak test looks for an easier test set unless told otherwise; T and the error rate look both ways."""
    for result in (seen, unseen):
        plain, html = result.to_dict(), audit_html(result)
        text = words(html)
        assert (plain["verdict_alternative"], plain["alternative"]) == ("greater", "two-sided")
        assert plain["control"]["leak"]["alternative"] == plain["verdict_alternative"]
        assert plain["p_value"] == plain["control"]["leak"]["p_greater"]
        assert "less what references expect, one-sided (easier)" in text
        assert f"p = {p_text(plain['p_value'])}, one-sided (easier): the smaller" in text
        assert "stand beside it (two-sided)" in text
        assert "References, upper tail (one-sided)" in text
        assert "Control, T (two-sided)" in text
        assert (
            "the verdict, against references: overfitting only (one-sided), declared beforehand; T and error rate: "
            "two-sided"
        ) in text
    assert "The test set was not found easier than the control" in words(audit_html(unseen))


def test_warnings_stand_under_the_verdict(unseen: AuditResult) -> None:
    """A harder test set, which a one-sided verdict does not look for."""
    assert "Warning." not in words(audit_html(unseen))
    assert unseen.leak is not None
    assert unseen.evidence.control is not None
    test = unseen.leak.test
    mean = replace(test.mean, difference=-1.0, p_two_sided=0.001, p_greater=0.999)
    leak = replace(unseen.leak, test=replace(test, mean=mean))
    control = replace(unseen.evidence.control, leak=leak)
    warned = replace(unseen, evidence=replace(unseen.evidence, control=control))
    text = words(audit_html(warned))
    told = "Warning. Given what the reference finds hard, the mean of the scores says that the test set is harder"
    assert text.index(told) < text.index("What this means")
    assert text.count("Warning") == 1


def test_comparison_with_references(leaked: AuditResult, seen: AuditResult) -> None:
    assert "With references the verdict is the leak test’s: seen (" in words(
        demo_html({"leaked": leaked, "seen": seen})
    )
    assert "With references the verdict" not in words(demo_html({"leaked": leaked}))
    last = comparison_table({"leaked": leaked, "seen": seen}, pictures=None).splitlines()[-1]
    assert seen.leak is not None
    assert re.split(r"\s{2,}", last) == [
        "leak test p", "no reference", f"{p_text(seen.leak.p_value)}, against {seen.reference_names[0]} (× 2)",
    ]  # fmt: skip


def test_numbers_do_not_depend_on_the_report(leaked: AuditResult) -> None:
    before = json.dumps(leaked.to_dict())
    audit_html(leaked)
    assert json.dumps(leaked.to_dict()) == before


def test_curve_sizes_end_at_n() -> None:
    for n in (1, 2, 19, 20, 21, 500, 10_000, 1_271_167):
        sizes = curve_sizes(n)
        assert sizes[-1] == n
        assert len(sizes) <= 7
        assert sizes == sorted(set(sizes))


def test_import_is_light() -> None:
    code = "import heldout.pages, sys; print(sorted({'jinja2', 'PIL', 'matplotlib', 'torch'} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "jinja2" not in out
    assert "matplotlib" not in out
    assert "torch" not in out


def _luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("dark", [False, True])
def test_contrast(plain: AuditResult, dark: bool) -> None:
    """Text at 4.5 to 1 and drawings at 3 to 1, as WCAG 2 AA asks, in light and dark."""
    blocks = re.findall(r":root \{(.*?)\}", audit_html(plain), flags=re.S)
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", blocks[dark]))

    def contrast(a: str, b: str) -> float:
        high, low = sorted((_luminance(colours[a]), _luminance(colours[b])), reverse=True)
        return (high + 0.05) / (low + 0.05)

    for ground in ("page", "card", "quiet-wash", "found-wash"):
        assert contrast("ink", ground) >= 7
        assert contrast("muted", ground) >= 4.5, ground
    assert contrast("quiet", "quiet-wash") >= 4.5
    assert contrast("found", "found-wash") >= 4.5
    assert contrast("link", "page") >= 4.5
    for series in "abcd":
        assert contrast(f"series-{series}", "page") >= 3


def test_words_for_what_is_done_to_a_picture(leaked: AuditResult) -> None:
    text = words(audit_html(leaked))
    assert "cyclic translations" in text
    assert "Preprocessingcyclic shifts of the whole picture; bytes scaled by 1/255" in text.replace("ing cy", "ingcy")
    crop = {"frame": "crop", "size": 24, "resize": None, "interpolation": "bilinear", "new": 3}
    assert preprocessing_text(crop) == "crop 24; new 3"
    assert "crop translations" in words(audit_html(replace(leaked, preprocessing=crop)))


def test_terms_are_defined(result: AuditResult) -> None:
    text = words(audit_html(result))
    assert text.index("v1: the first version of the paper, arXiv:1903.02380v1") < text.index("of v1")
    assert text.index("T = L(g(x))·h(g(x)) − L(x)") < text.index("What this means")
    curve = text.index("How the evidence grows: p-values of the test set alone")
    assert (curve > text.index("Every p-value")) == (result.control is not None)


def test_numbers_keep_their_percent_sign(leaked: AuditResult) -> None:
    html = audit_html(leaked)
    assert not re.search(r"\d %", html)
    assert "97.5\N{NO-BREAK SPACE}%" in html


def test_plain_and_within_class(leaked: AuditResult) -> None:
    assert leaked.control is not None
    assert leaked.evidence.control is not None
    text = words(audit_html(leaked))
    plain = leaked.evidence.test_error - float(leaked.control.losses.mean())
    assert f"plain difference {fixed(plain, sign=True)}" in text
    assert "Error rate, within class" in text
    assert "Difference of error" not in text
