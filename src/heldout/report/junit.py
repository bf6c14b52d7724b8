"""A summary as a JUnit report, which every CI system shows beside its tests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from heldout.report.text import to_text
from heldout.summary import Summary

# XML has no way to write these, not even escaped.
UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_junit(summary: Summary, *, name: str, failed: Sequence[str] = ()) -> str:
    """One test case of that name, which holds what `print` shows, and fails for the reasons given."""
    suites = ElementTree.Element("testsuites")
    count = {"name": "heldout", "tests": "1", "failures": str(min(1, len(failed))), "errors": "0"}
    suite = ElementTree.SubElement(suites, "testsuite", count)
    case = ElementTree.SubElement(suite, "testcase", {"classname": "heldout", "name": _plain(name)})
    if failed:
        failure = ElementTree.SubElement(case, "failure", message=_plain(failed[0]), type="gate")
        failure.text = _plain("\n".join(failed))
    ElementTree.SubElement(case, "system-out").text = _plain(to_text(summary))
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, encoding="unicode")


def _plain(text: str) -> str:
    return UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", text)
