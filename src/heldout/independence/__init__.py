"""Orbit and scorer to scores, generator, weights, T, and evidence (audit)."""
