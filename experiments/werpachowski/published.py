"""What the paper prints of the overfitted model (arXiv:1903.02380v1, section 4)."""

from __future__ import annotations

PUBLISHED = {
    "strength": 6.0,
    "mean_p_1": 0.5984,
    "median_p_1": 0.6385,
    "p_25": [0.1851, 0.1599, 0.0661, 0.1941],
    "p_100": 0.1153,
}
