"""What is public is listed in `__all__`, documented as numpydoc wants it, and all that README and examples use."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

import heldout

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
    """Names that a section of parameters explains."""
    heads = [line.partition(" : ")[0] for line in text.splitlines() if line and not line.startswith(" ")]
    return {name.strip("* ") for head in heads for name in re.split(r",| and ", head)}


THINGS = dict(documented())


def test_there_is_something_to_document():
    assert len(THINGS) > 150


@pytest.mark.parametrize("name", THINGS)
def test_documented_as_numpydoc_wants_it(name):
    thing, told = THINGS[name], sections(THINGS[name])
    assert inspect.getdoc(thing), f"{name} has no docstring"
    own = name.rpartition(".")[0] in ROOMS  # a method may share its class's example
    assert not own or ">>>" in told.get("Examples", ""), f"{name} has no example"
    if inspect.isclass(thing) and (issubclass(thing, BaseException) or getattr(thing, "_is_protocol", False)):
        return
    signature = inspect.signature(thing)
    wanted = [p for p in signature.parameters if p not in ("self", "cls")]
    if inspect.isclass(thing):
        inherited = {k: v for base in reversed(thing.__mro__) for k, v in sections(base).items()}
        assert not wanted or inherited.keys() & {"Parameters", "Attributes"}, f"{name} explains no field"
        return
    assert not wanted or "Parameters" in told, f"{name} explains no parameter"
    explained = listed(told.get("Parameters", ""))
    if "the options" not in told.get("Parameters", ""):  # those of `audit`
        assert not set(wanted) - explained, f"{name} does not explain {', '.join(set(wanted) - explained)}"
    if signature.return_annotation not in ("None", None):
        assert "Returns" in told, f"{name} does not say what it returns"


def test_properties_say_what_they_are():
    for path, thing in public_names():
        if inspect.isclass(thing):
            for name, member in inspect.getmembers_static(thing):
                assert name.startswith("_") or not isinstance(member, property) or inspect.getdoc(member), (path, name)


def test_public_names_are_there_and_listed_in_order():
    for room in ROOMS:
        module = importlib.import_module(room)
        assert list(module.__all__) == sorted(module.__all__), room
        assert inspect.getdoc(module), room
    assert set(heldout.__all__) <= set(dir(heldout))


def test_help_shows_the_options_of_an_audit():
    audit, many = (inspect.signature(f).parameters for f in (heldout.audit, heldout.audit_many))
    assert list(audit)[1:] == list(many)[1:]
    assert {name: p.default for name, p in list(audit.items())[1:]} == {n: p.default for n, p in list(many.items())[1:]}


def python_blocks():
    for page in ("README.md", "examples/README.md"):
        for i, block in enumerate(re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)):
            yield pytest.param(block, id=f"{page}-{i}")
    for script in sorted((ROOT / "examples").rglob("*.py")):
        yield pytest.param(script.read_text(), id=script.name)


@pytest.mark.parametrize("block", list(python_blocks()))
def test_pages_use_public_names_only(block):
    tree = ast.parse(block)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "heldout":
            assert node.module in ROOMS, f"{node.module} is not public"
            assert {alias.name for alias in node.names} <= set(importlib.import_module(node.module).__all__)
        if isinstance(node, ast.Import):
            assert all(alias.name in ROOMS for alias in node.names if alias.name.startswith("heldout"))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "heldout":
            assert node.attr in heldout.__all__, f"heldout.{node.attr} is not public"


def test_the_readme_names_public_functions_only():
    named = set(re.findall(r"`heldout\.(\w+)\(", (ROOT / "README.md").read_text()))
    assert named
    assert named <= set(heldout.__all__)
