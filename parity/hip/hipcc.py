"""A replacement for ``hipcc`` on machines without ROCm: ``python -m parity.hip.hipcc``.

It supports the options that reproducers use. With ``--genco`` it compiles a HIP source to a code object, which the
emulated HIP recognizes by its bytes (``images.py``). Otherwise it compiles a C source to a program, with AMD's headers
and the emulated ``libamdhip64``.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from parity.compilers import zig
from parity.compilers.clang import Clang
from parity.compilers.headers import available_headers
from parity.compilers.targets import target
from parity.compilers.toolchain import wheels
from parity.compilers.unit import Unit
from parity.errors import NotAvailable, ParityError
from parity.hip.library import library
from parity.platform.cache import Cache, default_root, digest

OWN = "parity-headers"
"""The folder of a reproducer with parity's headers."""

FLAGS = ("-O3", "-std=gnu++17", "-DHIP_ENABLE_WARP_SYNC_BUILTINS", "-mcode-object-version=5")
"""Flags that change the meaning of code for AMD targets. parity's compiler always uses them."""


def main(words: Sequence[str] | None = None) -> int:
    """Compile, and return the exit code."""
    parser = argparse.ArgumentParser("hipcc", allow_abbrev=False)
    parser.add_argument("--genco", action="store_true")
    parser.add_argument("--offload-arch")
    parser.add_argument("-o", dest="output", type=Path, required=True)
    parser.add_argument("-x", dest="language")
    parser.add_argument("-I", "-isystem", dest="include", type=Path, action="append", default=[])
    parser.add_argument("-idirafter", dest="after", type=Path, action="append", default=[])
    parser.add_argument("-include", dest="forced", action="append", default=[])
    given, others = parser.parse_known_args(words)
    *flags, source = others
    try:
        if given.genco:
            _code_object(Path(source), given, [flag for flag in flags if flag not in FLAGS])
            return 0
        return _program(source, given.output, flags)
    except ParityError as error:
        print(f"hipcc: {error}", file=sys.stderr)
        return 1


def _code_object(source: Path, given: argparse.Namespace, flags: Sequence[str]) -> None:
    clang = Clang(target(given.offload_arch), wheels())
    forced = tuple(path.absolute() if (path := Path(name)).is_file() else name for name in given.forced)
    # The compiler provides the headers in OWN itself. Other folders replace headers that are not installed.
    after = [folder for folder in given.after if OWN not in folder.parts]
    include = tuple(folder.absolute() for folder in (*given.include, *after))
    with tempfile.TemporaryDirectory(prefix="parity-hipcc-") as place:
        listing = Path(place, f"{source.stem}.s")
        clang.compile_listing(Unit(source, include, forced, tuple(flags)), listing)
        binary = listing.with_suffix(".hsaco")
        clang.assemble(listing, binary)

        def keep(folder: Path) -> None:
            for path in (listing, binary):
                shutil.copyfile(path, folder / path.name)

        Cache(default_root() / "build").get(digest("hipcc", listing.read_bytes()), keep)
        shutil.copyfile(binary, given.output)


def _program(source: str, output: Path, flags: Sequence[str]) -> int:
    headers = available_headers()
    if headers is None:
        raise NotAvailable("a HIP program needs AMD's headers; see parity doctor")
    includes = ("-D__HIP_PLATFORM_AMD__=1", "-isystem", headers.folder)
    linked = ("-L", library() / "lib", "-lamdhip64", "-lm")
    done = zig.run(["cc", *flags, *includes, source, "-o", output, *linked])
    sys.stderr.write(done.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
