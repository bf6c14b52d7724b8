"""What tells one function from another, so that answers of one are not taken for those of another."""

from __future__ import annotations

import functools
import os
import subprocess
import sys

from heldout.scorers.function_chooser import FunctionChooser


def digest(function):
    return FunctionChooser(function).digest()


class Fixed:
    def __init__(self, place):
        self.place = place

    def __call__(self, question, options):
        return self.place

    def second(self, question, options):
        return 1


def with_default(place):
    def choose(question, options, at=place):
        return at

    return choose


def inside(place):
    """The answer is a constant of a function within."""
    if place:
        return lambda question, options: (lambda: {"a": 1})()["a"]
    return lambda question, options: (lambda: {"a": 0})()["a"]


def named(place):
    return (lambda question, options: max(options)) if place else (lambda question, options: min(options))


def freed(place):
    first, second = min, max
    return (lambda question, options: second(options)) if place else (lambda question, options: first(options))


def test_what_differs_and_what_does_not():
    for make in (with_default, inside, named, freed, lambda place: functools.partial(with_default(0), at=place)):
        assert digest(make(0)) == digest(make(0))
        assert digest(make(0)) != digest(make(1))
    assert digest(Fixed(0).second) != digest(Fixed(0))
    assert digest(Fixed(0)) == digest(Fixed(1)), "what a function refers to is not seen"
    assert digest(max) != digest(min)


def test_the_same_in_every_process():
    """Sets among the constants have no order of their own, and objects print their addresses."""
    code = (
        "from heldout.scorers.function_chooser import FunctionChooser\n"
        "def f(q, o, at=object(), by={'x': print}): return 0 if q in {'a', 'b', 'c', 'd', 'e'} else 1\n"
        "print(FunctionChooser(f).digest())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, text=True, capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(found) == 1
