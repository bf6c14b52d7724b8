"""`heldout_audit`, a pytest fixture: a test that fails where a model is not independent of its test set."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from heldout import AuditResult, ScoreAuditResult

FAIL_UNDER = 0.01
RESAMPLES = 9999  # of `audit` and `audit_scores`, where nobody says otherwise


@pytest.fixture
def heldout_audit(request: pytest.FixtureRequest) -> Callable[..., AuditResult | ScoreAuditResult]:
    """Audit a model, and fail the test where the verdict's p is below `fail_under` (default 0.01).

    Called as `heldout.audit(model, images, orbit=..., control=...)`, or as `heldout.audit_scores(test, control)` with
    scores in place of a model. The p-value is recorded as a property of the test, for reports; so is, where another
    seed could have decided otherwise, a sentence that says so (`heldout_close`). Every test that audits is an audit of
    its own: where several do, `planned_audits` shares the level between them.

    Examples
    --------
    In a test file, with nothing to import::

        def test_the_model_has_not_seen_the_test_set(heldout_audit):
            heldout_audit(model, test, control=control, orbit=heldout.Translations(2), fail_under=0.01)

        def test_nor_its_tiles_as_they_stand(heldout_audit):  # every view of which was as likely as the others
            heldout_audit(model, tiles, orbit=heldout.Dihedral())
    """

    def audit(*args: Any, fail_under: float = FAIL_UNDER, **options: Any) -> AuditResult | ScoreAuditResult:
        import heldout
        from heldout.independence.gate import check_threshold, fails
        from heldout.independence.summary.seeds import audit_seeds_text

        of_pictures = "images" in options or any(isinstance(given, heldout.LabelledImages) for given in args[1:2])
        check_threshold(
            fail_under,
            n_resamples=options.get("n_resamples", RESAMPLES),
            planned_audits=options.get("planned_audits", 1),
            # without references the verdict on pictures is twice the smaller of two p-values
            halves=2 if of_pictures and not options.get("references") else 1,
            has_control=not of_pictures or options.get("control") is not None,
        )
        result: AuditResult | ScoreAuditResult
        if of_pictures:
            result = heldout.audit(*args, **options)
            p_value = result.evidence.adjusted_p_value
        else:
            result = heldout.audit_scores(*args, **options)
            p_value = result.adjusted_p_value
        # pytest's own `record_property` warns under the usual family of JUnit files, which may be an error
        request.node.user_properties.append(("heldout_p_value", p_value))
        known = p_value == p_value  # nan is neither
        close = audit_seeds_text(result, fail_under / options.get("planned_audits", 1)) if known else None
        if close is not None:
            request.node.user_properties.append(("heldout_close", close))
        if fails(p_value, fail_under):
            told = f"p = {p_value:.3g} is below {fail_under:g}.{f' {close}' if close else ''}"
            pytest.fail(f"{told}\n\n{result}", pytrace=False)
        return result

    return audit
