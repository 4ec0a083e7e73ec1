"""Lists of headers in the form of Makefile rules, as the ``-M`` options of compilers write them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

RULE_TARGET = "scanned"
"""The target of the rules."""


def listed_files(rule: Path) -> list[str]:
    """Return the prerequisites of a rule, the source among them."""
    return rule.read_text(encoding="utf-8", errors="surrogateescape").replace("\\\n", " ").split()[1:]


def missing_headers(run: Callable[..., object], source: Path) -> tuple[str, ...]:
    """Return all headers that a source includes and clang does not find. A compilation would report only the first.

    ``run`` starts clang's preprocessor with the arguments it gets, in the folder of ``source``. Other errors of the
    preprocessor do not matter, such as a condition on a macro of a missing header.
    """
    with tempfile.TemporaryDirectory(prefix="parity-headers-") as folder:
        rule, output = Path(folder, "headers"), Path(folder, "output")
        # -MG: treat a missing header as a file that the build generates later, not as an error.
        scan = ("-dependency-file", rule, "-MT", RULE_TARGET, "-MG", "-sys-header-deps")
        run("-E", source.name, "-o", output, *(part for word in scan for part in ("-Xclang", word)))
        if not rule.is_file():
            return ()
        return tuple(name for name in listed_files(rule) if not (source.parent / name).exists())
