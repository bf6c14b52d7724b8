"""The verdict in plain words; every word has its number beside it."""

from __future__ import annotations

import math

from heldout.independence.evidence import Evidence
from heldout.statistics.checks import Alternative

ALARM = 0.05


def verdict(evidence: Evidence, *, alternative: Alternative, tolerance: float, n_examples: int, n_models: int) -> str:
    """What the numbers allow to be said, and what they rest on."""
    p = evidence.p_value
    who = "the model" if n_models == 1 else f"the {n_models} models, averaged,"
    found = p <= ALARM
    p_text = f"p = {p:.2g}" if p >= 1e-300 else f"ln p = {evidence.log_p_value:.0f}"
    limit = (
        f"A true effect of {evidence.detectable_effect:.4f} or more would have been found four times in five; "
        "a smaller one may well be there."
        if math.isfinite(evidence.detectable_effect)
        else "What could have been detected cannot be told from these data."
    )
    if evidence.control is not None:
        control = evidence.control
        if found:
            # The direction is that of the test that spoke; both differences are positive for an easy test set.
            spoke = min(control.statistic, control.error_rate, key=lambda test: test.p_value)
            direction = (
                "the test set is easier than fresh data of the same source"
                if spoke.difference > 0
                else "test set and control differ, but not in the direction of overfitting"
            )
            return (
                f"NOT INDEPENDENT: {who} and this test set are not independent ({p_text} against a control of "
                f"{control.statistic.n_control:,} examples): {direction}."
            )
        return (
            f"NO EVIDENCE against independence: {who} {'does' if n_models == 1 else 'do'} on the test set what "
            f"{'it does' if n_models == 1 else 'they do'} on the control ({p_text}). {limit}"
        )
    assumption = (
        "This rests on two assumptions: independence, which is tested, and that small shifts keep a picture's "
        "label and likelihood, which is not. Only a control (--control) can tell them apart."
    )
    if tolerance:
        assumption += f" Shifts were allowed to cost up to {tolerance} on average."
    if found:
        sign = "higher" if evidence.statistic > 0 else "lower"
        return (
            f"REJECTED: the adversarial error estimate is {abs(evidence.statistic):.4f} {sign} than the test error, "
            f"more than chance allows ({p_text}, betting, {alternative}, n = {n_examples:,}). {assumption}"
        )
    tested = f"{p_text}, betting, {alternative}, n = {n_examples:,}"
    return f"NO EVIDENCE against independence ({tested}). {limit} {assumption}"
