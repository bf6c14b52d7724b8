"""Any summary as text, Markdown or HTML. Nothing here knows a verb, and nothing is computed."""

from __future__ import annotations

from heldout.report.junit import Case, to_junit
from heldout.report.markdown import to_markdown
from heldout.report.result import Result
from heldout.report.text import to_text

__all__ = ["Case", "Result", "to_junit", "to_markdown", "to_text"]
