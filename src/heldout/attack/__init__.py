"""Simulated analysts against an accuracy oracle: how far could somebody game this leaderboard?"""

from heldout.attack.knowledge import Knowledge
from heldout.attack.naive_bayes import NaiveBayes

__all__ = ["Knowledge", "NaiveBayes"]
