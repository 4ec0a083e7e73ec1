"""The report as one HTML file: template, style, program, libraries and data, the latter two compressed.

What comes from a run reaches the page only as data, and its program makes text of it, never HTML. The content security
policy of the page allows no script but those that it is written with, by their digests, and no request at all.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parity.documents import json_text
from parity.errors import count_of
from parity.files import rows_of
from parity.report.document import MatrixFile
from parity.report.matrix import FAILED

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = ["LIBRARIES", "badge", "page"]

HERE = Path(__file__).parent
LIBRARIES = HERE / "vendor"
"""Charts and tables by others: ``vendor.csv`` says which, ``nox -s vendor`` fetches them."""
VENDORED = LIBRARIES / "vendor.csv"

PROGRAM = (
    *("dom.js", "model.js", "address.js", "matrix.js", "plots.js", "failures.js", "cell.js", "tables.js", "history.js"),
    "main.js",
)
"""The parts of the page's program, in this order."""

_MAP = ("//# sourceMappingURL", "/*# sourceMappingURL")


def page(content: Mapping[str, Any], title: str) -> str:
    """The text of the file; ``content`` is what ``content()`` makes of a run."""
    program = "".join((HERE / "js" / name).read_text(encoding="utf-8") for name in PROGRAM)
    # What would end the script element, or begin a comment in it.
    assert "</script" not in program and "<!--" not in program
    scripts = {name: text for name, text in _libraries().items() if name.endswith(".js")}
    styles = [text for name, text in _libraries().items() if name.endswith(".css")]
    return _template("report.html.j2").render(
        title=title,
        # Of scripts that a parser reads, line ends are line feeds.
        digests=[_digest(text) for text in (program.replace("\r\n", "\n"), *scripts.values())],
        styles=[*styles, (HERE / "report.css").read_text(encoding="utf-8")],
        program=program,
        scripts={name: _packed_library(name) for name in scripts},
        data=_compressed(json_text({**content, "licences": _licences()})),
    )


def badge(matrix: MatrixFile) -> str:
    """The result of a run as a small picture (SVG) for a page such as a README."""
    failing = sum(any(cell.state in FAILED for cell in kernel.cells) for kernel in matrix.kernels)
    ran = sum(any(cell.run for cell in kernel.cells) for kernel in matrix.kernels)
    if failing:
        text, colour = f"{failing} of {len(matrix.kernels)} kernels failed", "#b94a00"
    elif not matrix.complete:
        text, colour = "interrupted", "#8a6d00"
    elif not ran:
        text, colour = "nothing was run", "#8a6d00"
    else:
        text, colour = f"{count_of(ran, 'kernel')} passed", "#0072b2"
        if others := sum(any(cell.state == "not judged" for cell in kernel.cells) for kernel in matrix.kernels):
            text, colour = f"{others} of {ran} kernels not judged", "#8a6d00"
    return _template("badge.svg.j2").render(text=text, colour=colour, left=44, right=12 + round(6.4 * len(text)))


@cache
def _template(name: str) -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # a tenth of a second

    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined)
    return environment.get_template(name)


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _compressed(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()


@cache
def _packed_library(name: str) -> str:
    return _compressed(_libraries()[name].encode())


@cache
def _libraries() -> Mapping[str, str]:
    """The text of each file, without the last line, which names a file that is not there."""
    names = [row["file"] for row in rows_of(VENDORED)]
    texts = {name: (LIBRARIES / name).read_text(encoding="utf-8") for name in names}
    return {
        name: "".join(line for line in text.splitlines(keepends=True) if not line.startswith(_MAP))
        for name, text in texts.items()
    }


def _licences() -> list[dict[str, str]]:
    """Name, version and licence of every library."""
    found = {row["package"]: row for row in rows_of(VENDORED)}
    return [
        {
            "name": row["package"],
            "version": row["version"],
            "licence": row["license"],
            "text": (LIBRARIES / row["notice"]).read_text(encoding="utf-8"),
        }
        for row in found.values()
    ]
