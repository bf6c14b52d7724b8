"""A public and a private part: what is gained on each, and what transfers."""

from __future__ import annotations

import math
from typing import Any

from heldout.attack.result import StressResult
from heldout.pages import svg
from heldout.pages.numbers import PERCENT
from heldout.pages.stress.words import points_text


def public_view(result: StressResult) -> dict[str, Any] | None:
    """Gains on both parts, by who knows which is which; None where answers are about everything."""
    split = result.public
    if split is None:
        return None
    plain = split.to_dict()
    rows = [_row("Public, known", result.advantage, float(result.run.std[-1]), "a")]
    if len(split.public):
        rows += [
            _row("Public, not known", split.gain_public, plain["std_public"], "b"),
            _row("Private, not known", split.gain_private, plain["std_private"], "c"),
        ]
    error = "" if math.isnan(split.transfers_error) else f" ± {100 * split.transfers_error:.1f}"
    return {
        "n_public": f"{split.n_public:,}",
        "n_private": f"{split.n_private:,}",
        "transfers": None
        if math.isnan(split.transfers)
        else f"{100 * split.transfers:.1f}{error}{PERCENT}".replace("-", "−"),
        "loses": bool(split.gain_private < -split.gain_public / 20) if len(split.public) else False,
        "simulated": len(split.public) > 0,
        "face_value": split.face_value,
        "chart": svg.interval_chart(
            rows,
            label="Gains on both parts: " + "; ".join(f"{row.name} {row.text}" for row in rows),
            x_label="gain in accuracy; bars are one standard deviation over the trials",
            reference=0.0,
        ),
    }


def _row(name: str, gain: float, std: float | None, style: svg.Style) -> svg.Row:
    known = std is not None and math.isfinite(std)
    interval = (gain - std, gain + std) if known and std is not None else None
    return svg.Row(name=name, value=gain, text=f"{points_text(gain, sign=True)} points", interval=interval, style=style)
