"""Moves that keep a picture's label and density: x to x' within one orbit."""

from heldout.orbit.rules import RULES, Rule, statistic_range
from heldout.orbit.translations import Translations

__all__ = ["RULES", "Rule", "Translations", "statistic_range"]
