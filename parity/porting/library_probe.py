"""Checks with one small compilation whether a real library can be used, and caches the result.

Without it, a broken installation shows only after many repairs of the project's source, which take minutes.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from parity.compilers.clang import Clang
from parity.compilers.clang_flags import STUBS_AFTER
from parity.compilers.errors import CompileError
from parity.compilers.include import HIP_RUNTIME
from parity.compilers.unit import Unit
from parity.platform.cache import Cache, default_root, digest
from parity.porting.stubs import Library, library_stamp

_RESULT = "error.json"


def library_error(library: Library, path: Sequence[Path], clang: Clang) -> str:
    """Return the first error in the main header of a library in its search path; empty if the header compiles."""
    key = digest("probe", clang.toolchain.fingerprint(clang.target), *library_stamp(library, path))

    def fill(folder: Path) -> None:
        (folder / _RESULT).write_text(json.dumps(_compiled(library, path, clang)), encoding="utf-8")

    folder, _ = Cache(default_root() / "probes").get(key, fill)
    return str(json.loads((folder / _RESULT).read_text(encoding="utf-8")))


def _compiled(library: Library, path: Sequence[Path], clang: Clang) -> str:
    with tempfile.TemporaryDirectory(prefix="parity-probe-") as name:
        source = Path(name, "probe.hip")
        source.write_text(f"#include <{library.header}>\n", encoding="utf-8")
        folders = library.link_into(Path(name, "library").resolve(), path)
        after = tuple(part for folder in folders for part in (STUBS_AFTER, str(folder)))
        forced = (HIP_RUNTIME, *((library.first,) if library.first else ()))
        try:
            clang.check(Unit(source, forced=forced, flags=(*library.defines, *after)))
        except CompileError as error:
            return error.first
        return ""
