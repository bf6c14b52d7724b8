"""What is public is listed in `__all__`, documented as numpydoc wants it, and all that pages and examples use."""

import ast
import builtins
import doctest
import importlib
import inspect
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import heldout
from tests import manual

ROOT = Path(__file__).parent.parent
ROOMS = [
    "heldout",
    *(f"heldout.{room}" for room in ("attack", "images", "orbit", "predictions", "scorers", "statistics")),
]
SECTION = re.compile(r"^(\w[\w ]*)\n-+$", re.MULTILINE)


def public_names():
    for room in ROOMS:
        module = importlib.import_module(room)
        for name in module.__all__:
            yield f"{room}.{name}", getattr(module, name)


def documented():
    """Functions, classes and public methods, each once, by the name it is reached by."""
    seen = set()
    for path, thing in public_names():
        if inspect.isclass(thing) and issubclass(thing, BaseException):
            found = {}
        elif inspect.isclass(thing):
            found = {
                f"{path}.{name}": member.__func__ if isinstance(member, classmethod) else member
                for name, member in inspect.getmembers_static(thing)
                if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, classmethod))
                if member.__module__ not in ("_collections_abc", "collections.abc")  # what Python explains
            }
        else:
            found = {}
        for name, member in {path: thing, **found}.items():
            if callable(member) and not hasattr(member, "__origin__") and member not in seen:
                seen.add(member)
                yield name, member


def sections(thing):
    """Text under each heading of a docstring."""
    parts = SECTION.split(inspect.getdoc(thing) or "")
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def listed(text):
    """Names that a section of parameters explains, as often as it does."""
    heads = [line.partition(" : ")[0] for line in text.splitlines() if line and not line.startswith(" ")]
    return [name.strip("* ") for head in heads for name in re.split(r",| and ", head)]


def complaints(name, thing):
    """What a docstring lacks."""
    told = sections(thing)
    if not inspect.getdoc(thing):
        yield "has no docstring"
    if name.rpartition(".")[0] in ROOMS and ">>>" not in told.get("Examples", ""):  # methods share their class's
        yield "has no example"
    if inspect.isclass(thing) and (issubclass(thing, BaseException) or getattr(thing, "_is_protocol", False)):
        return
    signature = inspect.signature(thing)
    wanted = {p for p in signature.parameters if p not in ("self", "cls")}
    told_of = [sections(base) for base in thing.__mro__] if inspect.isclass(thing) else [told]  # fields are inherited
    lacking = wanted - {p for each in told_of for h in ("Parameters", "Attributes") for p in listed(each.get(h, ""))}
    if lacking and thing is not heldout.audit_many:  # which has the options of `audit`
        yield f"does not explain {', '.join(sorted(lacking))}"
    names = Counter(name for h in ("Parameters", "Attributes") for name in listed(told.get(h, "")))
    twice = [name for name, times in names.items() if times > 1]
    if twice:
        yield f"explains {', '.join(twice)} more than once"
    there = {*wanted, *dir(thing), *getattr(thing, "__dataclass_fields__", ())} if inspect.isclass(thing) else wanted
    hands_on = thing is heldout.audit_many or any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    if not hands_on and not set(names) <= there:
        yield f"explains {', '.join(sorted(set(names) - there))}, which it does not have"
    returns = signature.return_annotation not in ("None", None) and not inspect.isclass(thing)
    if returns and len(told.get("Returns", "").strip().splitlines()) < 2:  # a type, and what it holds
        yield "does not say what it returns"


def test_documented_as_numpydoc_wants_it():
    things = dict(documented())
    assert len(things) > 150
    assert [f"{name} {lack}" for name, thing in things.items() for lack in complaints(name, thing)] == []


class Toy:
    """A class whose docstring tells of what is not there, and of the rest twice.

    Attributes
    ----------
    name, ghost : str
        One of them.
    name : str
        Again.
    """

    name = "toy"


def test_what_a_class_does_not_have_is_not_explained():
    assert list(complaints("toy", Toy)) == [
        "explains name more than once",
        "explains ghost, which it does not have",
    ]


def lacks(example):
    """Names that an example uses before it, or anything in it, has made them."""
    known, free = set(dir(builtins)), []
    for line in doctest.DocTestParser().get_examples(example):
        nodes = list(ast.walk(ast.parse(line.source)))
        known |= {(n.asname or n.name).partition(".")[0] for n in nodes if isinstance(n, ast.alias)}
        known |= {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        known |= {n.name for n in nodes if isinstance(n, (ast.FunctionDef, ast.ClassDef, ast.ExceptHandler))}
        known |= {n.arg for n in nodes if isinstance(n, ast.arg)}
        free += [n.id for n in nodes if isinstance(n, ast.Name) and n.id not in known]
    return free


def test_examples_can_be_pasted():
    assert lacks(">>> import numpy as np\n>>> x = np.zeros(3)\n>>> audit(x, y)\n") == ["audit", "y"]
    examples = {name: sections(thing).get("Examples", "") for name, thing in documented()}
    assert {name: lacks(text) for name, text in examples.items() if lacks(text)} == {}
    code = {name: doctest.script_from_examples(text) for name, text in examples.items()}
    assert {name: found for name, text in code.items() if (found := list(not_public(text)))} == {}


def test_properties_say_what_they_are():
    for path, thing in public_names():
        if inspect.isclass(thing):
            for name, member in inspect.getmembers_static(thing):
                assert name.startswith("_") or not isinstance(member, property) or inspect.getdoc(member), (path, name)


def test_public_names_are_there_and_listed_in_order():
    for room in ROOMS:
        module = importlib.import_module(room)
        in_order = sorted(module.__all__, key=lambda name: (not name.isupper(), name))  # constants first
        assert list(module.__all__) == in_order, room
        assert inspect.getdoc(module), room
    assert set(heldout.__all__) <= set(dir(heldout))


def test_rooms_are_reached_from_the_package():
    rooms = ", ".join(f"{room}.__all__" for room in ROOMS)
    told = f"import sys, heldout; assert 'numpy' not in sys.modules; {rooms}"
    subprocess.run([sys.executable, "-c", told], check=True)


def test_verbs_begin_without_what_takes_longer_to_load_than_all_else():
    verbs = "independence.audit", "reuse.budget", "memorization.retrained", "exposures.exposure", "attack.stress"
    told = f"import sys, {', '.join(f'heldout.{verb}' for verb in verbs)}; assert 'scipy.stats' not in sys.modules"
    subprocess.run([sys.executable, "-c", told], check=True)


def test_help_shows_the_options_of_an_audit():
    audit, many = (inspect.signature(f).parameters for f in (heldout.audit, heldout.audit_many))
    assert list(audit)[1:] == list(many)[1:]
    assert {name: p.default for name, p in list(audit.items())[1:]} == {n: p.default for n, p in list(many.items())[1:]}


def python_blocks():
    for page in (*manual.PAGES, ROOT / "examples" / "README.md"):
        yield from re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    yield from (script.read_text() for script in sorted((ROOT / "examples").rglob("*.py")))


def not_public(block):
    """What a block of code takes from heldout that is not public."""
    for node in ast.walk(ast.parse(block)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "heldout":
            names = importlib.import_module(node.module).__all__ if node.module in ROOMS else ()
            yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.name not in names)
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.partition(".")[0] == "heldout"]
            yield from (name for name in names if name not in ROOMS)
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "heldout":
            yield from {f"heldout.{node.attr}"} - {f"heldout.{name}" for name in heldout.__all__}


def test_pages_use_public_names_only():
    blocks = list(python_blocks())
    assert len(blocks) > 8
    assert [name for block in blocks for name in not_public(block)] == []
    private = "from heldout.attack.knowledge import Knowledge\nfrom heldout.orbit import check_rule\nheldout.frames"
    assert sorted(not_public(private)) == [
        "heldout.attack.knowledge.Knowledge",
        "heldout.frames",
        "heldout.orbit.check_rule",
    ]


def test_pages_name_public_functions_only():
    named = {name for page in manual.PAGES for name in re.findall(r"`heldout\.(\w+)\(", page.read_text())}
    assert len(named) > 5
    assert named <= set(heldout.__all__)
