"""What pages and gates say where another seed could decide a test of printed orders otherwise."""

from __future__ import annotations

from heldout import summary as page
from heldout.multiple_choice.result import OptionsResult
from heldout.multiple_choice.summary.words import both_p
from heldout.statistics.seeds import draws_error, seed_decides


def options_seeds_text(result: OptionsResult, level: float) -> str | None:
    """That another seed could put p on the other side of a level."""
    return _of(result, "p", result.p_value, level)


def verdict_seeds_text(result: OptionsResult) -> str | None:
    """The same of the verdict: of p, or of any p it turns on where unread answers can be counted in other ways."""
    c, p_values = result.complete, {"p": result.p_value}
    if c is not None and result.verdict != "depends on the printed order":
        p_wrong, p_whole = both_p(result, c)
        p_values = {
            "p with unread answers counted against a finding": c.p_against.conditional,
            "p with all of them as wrong": p_wrong,
            "p on the items with all answers read": p_whole,
        }
    told = (_of(result, name, p, result.level) for name, p in p_values.items())
    return next((seeds for seeds in told if seeds is not None), None)


def _of(result: OptionsResult, name: str, p: float, level: float) -> str | None:
    """That draws alone could put a p of this name on the other side of a level."""
    error = 0.0 if result.uniform else draws_error(p, result.n_resamples)
    if not seed_decides(level, (p, error)):
        return None
    return f"{name}{page.p_moves_text(error, level).removeprefix('p')} More --resamples decide it."
