"""The fifteen common corruptions of Hendrycks & Dietterich (2019), at five severities each."""

from heldout.memorization.perturb.corruptions.apply import CORRUPTIONS, corrupt

__all__ = ["CORRUPTIONS", "corrupt"]
