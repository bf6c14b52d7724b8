"""`heldout_audit`, a pytest fixture: a test that fails where a model is not independent of its test set."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from heldout import AuditResult, ScoreAuditResult

FAIL_UNDER = 0.01


@pytest.fixture
def heldout_audit(record_property: Callable[[str, object], None]) -> Callable[..., AuditResult | ScoreAuditResult]:
    """Audit a model, and fail the test where the verdict's p is below `fail_under` (default 0.01).

    Called as `heldout.audit(model, images, orbit=..., control=...)`, or as `heldout.audit_scores(test, control)` with
    scores in place of a model. The p-value is recorded as a property of the test, for reports. Every test that audits
    is an audit of its own: where several do, `planned_audits` shares the level between them.

    Examples
    --------
    In a test file, with nothing to import::

        def test_the_model_has_not_seen_the_test_set(heldout_audit):
            heldout_audit(model, test, control=control, orbit=heldout.Translations(2), fail_under=0.01)
    """

    def audit(*args: Any, fail_under: float = FAIL_UNDER, **options: Any) -> AuditResult | ScoreAuditResult:
        import heldout

        if not 0 < fail_under < 1:
            raise heldout.InputError(f"`fail_under` is {fail_under:g}; give a p-value between 0 and 1.")
        result: AuditResult | ScoreAuditResult
        if not isinstance(args[1], heldout.LabelledImages):
            result = heldout.audit_scores(*args, **options)
            p_value = result.adjusted_p_value
        else:
            result = heldout.audit(*args, **options)
            p_value = result.evidence.adjusted_p_value
        record_property("heldout_p_value", p_value)
        if p_value < fail_under:
            pytest.fail(f"p = {p_value:.3g} is below {fail_under:g}.\n\n{result}", pytrace=False)
        return result

    return audit
