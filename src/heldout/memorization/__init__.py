"""Perturb the training set more and more and see how the accuracy falls: has a model learned or memorised?"""
