"""Predictions to similarity to cover to bounds: how many more models can this test set rank?"""
