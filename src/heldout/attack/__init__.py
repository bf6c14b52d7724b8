"""Simulated analysts against an accuracy oracle: how far could somebody game this leaderboard?"""
