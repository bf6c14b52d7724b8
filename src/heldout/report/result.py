"""A result that prints and renders itself: what every verb's result is."""

from __future__ import annotations

from pathlib import Path

from heldout.errors import InputError
from heldout.files import write_text
from heldout.report.html import to_html
from heldout.report.markdown import to_markdown
from heldout.report.text import to_text
from heldout.results import Record
from heldout.summary import Summary


class Result(Record):
    """A record with a summary; everything that is shown of it is rendered from that."""

    def summary(self) -> Summary:
        """What the result says; nothing is computed."""
        raise NotImplementedError

    def __str__(self) -> str:
        return to_text(self.summary())

    def markdown(self) -> str:
        """The summary for a step summary or a pull request."""
        return to_markdown(self.summary())

    def html(self, *, command: str | None = None) -> str:
        """The summary as a page of its own; `command` is what it was made by."""
        return to_html(self.summary(), command=command)

    def _repr_html_(self) -> str:
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
