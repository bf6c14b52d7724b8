"""A result that prints and renders itself: what every verb's result is."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from heldout import frames
from heldout.errors import InputError
from heldout.files import write_text
from heldout.report.markdown import to_markdown
from heldout.report.text import to_text
from heldout.results import Record
from heldout.summary import Summary


class Result(Record):
    """A record with a summary; everything that is shown of it is rendered from that.

    Examples
    --------
    >>> import heldout
    >>> result = heldout.budget_from_numbers(50_000, error=0.244, similarity=0.85, epsilon=0.01)
    >>> result.markdown().startswith("#"), "<html" in result.html()
    (True, True)
    >>> result.to_dict()["n_examples"], result.to_frame(backend="polars").shape[0]
    (50000, 1)
    """

    told_by: ClassVar[str]  # "module:function" that makes the summary; imported when somebody asks for it
    tabled: ClassVar[Mapping[str, frames.Source]] = {}  # what `to_frame` makes frames of, by name, the default first
    alone: ClassVar[frames.Source] = ""  # the one row of a result without tables: all its plain values

    def summary(self) -> Summary:
        """What the result says; nothing is computed.

        Returns
        -------
        heldout.summary.Summary
            Headline, key figures and sections.
        """
        module, _, function = self.told_by.partition(":")
        told: Summary = getattr(import_module(module), function)(self)
        return told

    def __str__(self) -> str:
        return to_text(self.summary())

    def markdown(self) -> str:
        """The summary for a step summary or a pull request.

        Returns
        -------
        str
            Markdown, as GitHub shows it.
        """
        return to_markdown(self.summary())

    def html(self, *, command: str | None = None) -> str:
        """The summary as a page of its own; `command` is what it was made by.

        Parameters
        ----------
        command : str, optional
            The command line that made the result, to be shown on the page.

        Returns
        -------
        str
            A page in one file, pictures and style within it.
        """
        from heldout.report.html import to_html  # what text needs is there without jinja2

        return to_html(self.summary(), command=command)

    def _repr_html_(self) -> str:
        from heldout.report.html import to_html

        return to_html(self.summary(), page=False)

    def report(self, path: str | Path, *, command: str | None = None) -> Path:
        """Write the page to `path`, or to report.html where `path` is a folder; whole or not at all.

        Parameters
        ----------
        path : path
            A file that ends in .html, .md (Markdown) or .txt (what `print` shows), or a folder.
        command : str, optional
            What the result was made by; the page says so.

        Returns
        -------
        pathlib.Path
            The file.
        """
        file = Path(path)
        if file.suffix == "" or file.is_dir():
            file = file / "report.html"
        if file.suffix not in (".html", ".htm", ".md", ".txt"):
            raise InputError(f"{file.name!r}: a report ends in .html, .md or .txt.")
        text = self.markdown() if file.suffix == ".md" else f"{self}\n" if file.suffix == ".txt" else None
        write_text(file, self.html(command=command) if text is None else text)
        return file

    def tables(self) -> tuple[str, ...]:
        """Names of what `to_frame` can make a frame of.

        Returns
        -------
        tuple of str
            The default first; ("result",), one row of the numbers and texts of `to_dict`, where nothing is `tabled`.
        """
        return tuple(frames.tables_of(self))

    def to_frame(self, table: str | None = None, *, backend: frames.Backend | None = None) -> Any:
        """The result as a frame of pandas or polars.

        Parameters
        ----------
        table : str, optional
            Which of its tables, where it has several: a name in `tables()`; the first without.
        backend : {"pandas", "polars"}, optional
            Whose frame; without it pandas, or polars where pandas is not installed.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            The rows that the class tells of, or one row of its numbers.
        """
        return frames.to_frame(frames.columns_of(self, table), backend)
