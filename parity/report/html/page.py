"""Assembles the HTML file of the report from template, style, program, and compressed libraries and data.

The page receives everything from a run as data, and its program inserts the data as text, never as HTML. The content
security policy allows only the scripts of this page, by their digests, and no requests.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from parity.errors import pluralize
from parity.platform.files import read_table
from parity.platform.serialization import json_text
from parity.report.document import MatrixFile
from parity.report.model import FAILED_KEYS, CellState

HERE = Path(__file__).parent
_UNJUDGED = {CellState.NOT_JUDGED.key, CellState.COULD_NOT_RUN.key}
LIBRARIES = HERE / "vendor"
"""Compressed third-party libraries. ``vendor.csv`` lists them, and ``nox -s vendor`` downloads them."""
VENDORED = LIBRARIES / "vendor.csv"
_LEVEL = 7
"""Level of the compression. Level 9 saves 0.3 % more and takes twice as long."""

PROGRAM = (
    *("dom.js", "model.js", "address.js", "matrix.js", "plots.js", "failures.js", "cell.js", "tables.js", "history.js"),
    "main.js",
)
"""The parts of the page's program, in order."""


def render_page(content: Mapping[str, Any], title: str) -> str:
    """Return the text of the file; ``content`` is the result of ``page_content``."""
    program = "".join((HERE / "js" / name).read_text(encoding="utf-8") for name in PROGRAM)
    # Such text would end the script element, or start a comment in it.
    assert "</script" not in program and "<!--" not in program
    # HTML parsers normalize line ends to line feeds.
    own = hashlib.sha256(program.replace("\r\n", "\n").encode()).digest()
    scripts, styles = _libraries()
    digests = [own, *(bytes.fromhex(digest) for digest in scripts.values())]
    style = (HERE / "report.css").read_text(encoding="utf-8")
    return _filled(
        "report.html",
        title=html.escape(title),
        digests="".join(f" 'sha256-{base64.b64encode(digest).decode()}'" for digest in digests),
        styles="".join(f"<style>\n{text}\n</style>\n" for text in (*styles, style)),
        program=program,
        scripts="".join(_data("data-library", Path(name).stem, (LIBRARIES / name).read_bytes()) for name in scripts),
        data=_data("id", "data", gzip.compress(json_text({**content, "licences": _licences()}), _LEVEL, mtime=0)),
    )


def render_badge(matrix: MatrixFile) -> str:
    """Return the result of a run as a badge (SVG), for example for a README.

    It says passed only if nothing failed, and everything that the run was asked to do was judged.
    """
    states = [{cell.state for cell in kernel.cells} for kernel in matrix.kernels]
    failing = sum(not FAILED_KEYS.isdisjoint(each) for each in states)
    unjudged = sum(not _UNJUDGED.isdisjoint(each) for each in states)
    ran = sum(any(cell.run for cell in kernel.cells) for kernel in matrix.kernels)
    open_issues = sum(bool(each.complaint) for each in matrix.known_issues)
    if failing:
        text, colour = f"{failing} of {len(matrix.kernels)} kernels failed", "#b94a00"
    elif open_issues:
        text, colour = f"{pluralize(open_issues, 'known issue')} to review", "#b94a00"
    elif not matrix.complete:
        text, colour = "interrupted", "#8a6d00"
    elif not ran:
        text, colour = "nothing was run", "#8a6d00"
    elif unjudged:
        text, colour = f"{unjudged} of {len(matrix.kernels)} kernels not judged", "#8a6d00"
    elif matrix.problems:
        text, colour = "incomplete", "#8a6d00"
    else:
        text, colour = f"{pluralize(ran, 'kernel')} passed", "#0072b2"
    left, right = 44, 12 + round(6.4 * len(text))
    places = {"left": left, "right": right, "first": left / 2, "second": left + right / 2}
    return _filled("badge.svg", text=html.escape(text), colour=colour, width=left + right, length=right - 12, **places)


def _filled(name: str, **values: object) -> str:
    """The text of a template file with each ``$name`` replaced."""
    return string.Template((HERE / name).read_text(encoding="utf-8")).substitute(values)


def _data(attribute: str, name: str, content: bytes) -> str:
    """A line with data in a script element that no browser executes."""
    text = base64.b64encode(content).decode()
    return f'<script type="application/octet-stream" {attribute}="{name}">{text}</script>\n'


def _libraries() -> tuple[Mapping[str, str], Sequence[str]]:
    """The digest of each library by file name, and the text of each style sheet."""
    rows = read_table(VENDORED)
    styles = [(LIBRARIES / row["file"]).read_text(encoding="utf-8") for row in rows if row["file"].endswith(".css")]
    return {row["file"]: row["sha256"] for row in rows if not row["file"].endswith(".css")}, styles


def _licences() -> list[dict[str, str]]:
    """Name, version and licence of each library."""
    found = {row["package"]: row for row in read_table(VENDORED)}
    texts = {name: (LIBRARIES / row["notice"]).read_text(encoding="utf-8") for name, row in found.items()}
    return [
        {"name": name, "version": row["version"], "licence": row["license"], "text": texts[name]}
        for name, row in found.items()
    ]
