"""Moves that keep an example's label and density: x to x' within one orbit."""

from heldout.orbit.option_orders import OptionOrders
from heldout.orbit.rules import RULES, Rule, statistic_range
from heldout.orbit.translations import Translations

__all__ = ["RULES", "OptionOrders", "Rule", "Translations", "statistic_range"]
