"""Moves that keep an example's label and density: x to x' within one orbit."""

from heldout.orbit.option_orders import OptionOrders
from heldout.orbit.product import Product
from heldout.orbit.rules import RULES, Rule, statistic_range
from heldout.orbit.translations import Translations
from heldout.orbit.views import Dihedral, HorizontalFlip

__all__ = ["RULES", "Dihedral", "HorizontalFlip", "OptionOrders", "Product", "Rule", "Translations", "statistic_range"]
