"""Existing runs: logs of inspect_ai and lm-evaluation-harness, arrays of scores; joined, and refused where their design
cannot bear the test."""
