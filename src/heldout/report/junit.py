"""A summary as a JUnit report, which every CI system shows beside its tests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple
from xml.etree import ElementTree

from heldout.report.text import to_text
from heldout.summary import Summary

# XML has no way to write these, not even escaped.
UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Case(NamedTuple):
    """A test case: what `print` shows of it, and why it fails, or why there is nothing to show."""

    name: str
    summary: Summary | None
    failed: Sequence[str] = ()
    skipped: str = ""


def to_junit(*cases: Case) -> str:
    """One suite of these test cases."""
    failures, skipped = (sum(map(bool, column)) for column in zip(*((c.failed, c.skipped) for c in cases), strict=True))
    count = {"tests": len(cases), "failures": failures, "errors": 0, "skipped": skipped}
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(suites, "testsuite", {"name": "heldout"} | {k: str(v) for k, v in count.items()})
    for one in cases:
        case = ElementTree.SubElement(suite, "testcase", {"classname": "heldout", "name": _plain(one.name)})
        if one.failed:
            failure = ElementTree.SubElement(case, "failure", message=_plain(one.failed[0]), type="gate")
            failure.text = _plain("\n".join(one.failed))
        if one.skipped:
            ElementTree.SubElement(case, "skipped", message=_plain(one.skipped))
        if one.summary is not None:
            ElementTree.SubElement(case, "system-out").text = _plain(to_text(one.summary))
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, encoding="unicode")


def _plain(text: str) -> str:
    return UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", text)
