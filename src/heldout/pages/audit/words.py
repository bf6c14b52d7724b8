"""Words that several sections of an audit's page share."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from heldout.independence.evidence import CONFIDENCE
from heldout.independence.result import AuditResult, pvalue_text
from heldout.independence.verdict import Verdict, range_text
from heldout.pages import numbers
from heldout.pages.numbers import NOT_DEFINED, PERCENT, p_text
from heldout.statistics.checks import Alternative

CONFIDENCE_TEXT = f"{100 * CONFIDENCE:g}{PERCENT}"


def is_found(result: AuditResult) -> bool:
    """Whether the verdict is at or below the level."""
    return result.outcome != "no evidence"


def models_text(result: AuditResult, *, capital: bool = False) -> str:
    """The model or models, as the subject of a sentence."""
    text = "the model" if result.n_models == 1 else f"the {result.n_models} models"
    return text[0].upper() + text[1:] if capital else text


def side_text(result: AuditResult) -> str:
    """One-sided or two-sided: T and the error rate. The leak test against references has a side of its own."""
    return side_of(result.alternative)


def side_of(alternative: Alternative) -> str:
    """The same of any test."""
    return "one-sided" if alternative == "greater" else "two-sided"


def pixels_text(result: AuditResult) -> str:
    """The radius, in words."""
    return f"{result.orbit.radius} {'pixel' if result.orbit.radius == 1 else 'pixels'}"


def names_text(names: Sequence[str], most: int = 12) -> str:
    """Every name once, with how often it comes; trainings of one function share theirs."""
    counts = Counter(names)
    texts = [name if k == 1 else f"{name} (× {k})" for name, k in counts.items()]
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def verdict_p_text(result: AuditResult) -> str:
    """The p-value that is held to the level: times the planned audits, if there are several."""
    e = result.evidence
    if e.control is None:
        return pvalue_text(e.adjusted_log_p_value)
    return p_text(e.adjusted_p_value if e.planned_audits > 1 else e.control.p_value)


def why_undetectable(result: AuditResult) -> str | None:
    """Why the detectable effect is not defined; None where it is."""
    control = result.evidence.control
    if control is not None:
        # Without any spread the formula gives 0: nothing was measured, which is not "everything is found".
        if control.statistic.standard_error > 0:
            return None
        return "no T varies within a class, in the test set or in the control, so there is no spread to project from"
    if math.isfinite(result.evidence.detectable_effect):
        return None
    if not (result.T > 0).any():
        return "no example has a positive T, so there is nothing to project a positive mean from"
    return "not even the largest mean that these values of T allow would be found four times in five"


def effect_text(result: AuditResult) -> str:
    """The detectable effect on T, as a range, or that it is not defined."""
    return NOT_DEFINED if why_undetectable(result) else range_text(result.evidence.detectable)


def level_text(result: AuditResult) -> str:
    """The level that p is held to."""
    return numbers.level_text(result.evidence.level, result.evidence.planned_audits)


def verdict_word(result: AuditResult) -> str:
    """The capitals that open the verdict."""
    return result.ruling.title


def verdict_sentence(result: AuditResult) -> str:
    """The verdict without the capitals that open it, for a place whose title has said them."""
    return plain_sentence(result.ruling)


def plain_sentence(ruling: Verdict) -> str:
    """The same of any verdict."""
    rest = ruling.sentence.removeprefix("against independence ")
    rest = re.sub(r"\b([pn]) = ", "\\1\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}", rest.replace(" %", PERCENT))
    return rest[:1].upper() + rest[1:]
