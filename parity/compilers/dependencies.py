"""Lists of headers in the form of Makefile rules, as the ``-M`` options of compilers write them."""

from __future__ import annotations

import functools
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

RULE_TARGET = "scanned"
"""The target of the rules."""

_WORD = re.compile(r"(?:[^\s\\]|\\.)+")
_ESCAPED = re.compile(r"\\([ #])|\$(?=\$)")
_SYSTEM = (Path("/usr/include"), Path("/usr/lib"))


def rule_path(output: Path) -> Path:
    """Return the path of the rule with all headers that a compilation reads."""
    return output.with_suffix(".d").resolve()


def rule_options(rule: Path) -> Iterator[str | Path]:
    """Yield clang's options for a rule. For device code alone, the driver's options (``-MD``) do not write any."""
    for word in ("-dependency-file", rule, "-MT", RULE_TARGET, "-sys-header-deps"):
        yield from ("-Xclang", word)


def headers_outside(output: Path, working_folder: Path, known: Iterable[Path]) -> tuple[Path, ...]:
    """Return the files that a compilation read outside of the system's and the known folders. Deletes the rule."""
    rule, inside = rule_path(output), {each.resolve() for each in (*_SYSTEM, output.parent, *known)}

    @functools.cache  # the hundreds of files are in few folders
    def is_known(path: Path) -> bool:
        real = path.resolve()
        return not inside.isdisjoint((real, *real.parents))

    paths = [working_folder / name for name in listed_files(rule)]
    rule.unlink()
    resolved = dict.fromkeys(path.resolve() for path in paths if not is_known(path.parent))
    return tuple(each for each in resolved if not is_known(each))


def listed_files(rule: Path) -> list[str]:
    """Return the prerequisites of a rule, the source among them."""
    text = rule.read_text(encoding="utf-8", errors="surrogateescape").replace("\\\n", " ").partition(":")[2]
    return [_ESCAPED.sub(r"\1", word) for word in _WORD.findall(text)]


def missing_headers(run: Callable[..., object], source: Path) -> tuple[str, ...]:
    """Return all headers that a source includes and clang does not find. A compilation would report only the first.

    ``run`` starts clang's preprocessor with the arguments it gets, in the folder of ``source``. Other errors of the
    preprocessor do not matter, such as a condition on a macro of a missing header.
    """
    with tempfile.TemporaryDirectory(prefix="parity-headers-") as folder:
        rule, output = Path(folder, "headers"), Path(folder, "output")
        # -MG: treat a missing header as a file that the build generates later, not as an error.
        run("-E", source.name, "-o", output, *rule_options(rule), "-Xclang", "-MG")
        if not rule.is_file():
            return ()
        return tuple(name for name in listed_files(rule) if not (source.parent / name).exists())
