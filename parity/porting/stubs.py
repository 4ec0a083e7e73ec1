"""Chooses between a real library and parity's stub for a header that a project includes but does not contain.

Only ``choose`` makes this decision. Two tables are its rules:

* ``stubs.csv`` maps header names to a library, and to the stub in ``include/stubs`` that replaces its header.
* ``libraries.csv`` has a row for each library: where to search for its real headers, and when to use the stub.

The project's own include folders take precedence over both. With ``--rocm PATH``, AMD's libraries come from that path
only. An installed ROCm that compiles (``--toolchain rocm``) finds its own headers before the stubs, but after the stubs
of libraries that only host code calls. On the CUDA side, the headers that nvcc finds take precedence, and ``cuda_stub``
names the stubs of other headers.
"""

from __future__ import annotations

import functools
import os
import re
import string
import sysconfig
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from parity.compilers.include import STUBS
from parity.platform.files import read_rows
from parity.platform.installation import package_folders
from parity.porting.cuda_names import header_rules

TABLE = Path(__file__).with_name("stubs.csv")
LIBRARIES = Path(__file__).with_name("libraries.csv")
NEEDS = Path(__file__).with_name("needs.csv")

POLICY = "PARITY_STUBS"
"""The environment variable that, set to ``always``, disables real libraries outside the project."""

_CUDA_LIBRARY = re.compile(r"(?:cublas|cufft|cusparse|cusolver|cudnn|nccl)\w*\.h")


HOST_LIBRARIES = "parity/libraries.h"
"""The stub of AMD's libraries that only host code calls."""

HIPRAND = "parity/hiprand_kernel.h"
"""The stub of hipRAND's device functions, which includes cuRAND's."""

LIBRARY_NAMES = "parity/library_names.h"
"""The header that ``library_names`` generates."""
_HIP_NAME = re.compile(
    r"\b(?:hip(?:blas|fft|sparse|solver|rand)(?=[A-Z])|HIP(?:BLAS|FFT|SPARSE|SOLVER|RAND)|rocblas_|miopen"
    r"|cudnn(?=[A-Z])|CUDNN_|nccl(?=[A-Z])|NCCL_)\w*"
)
_CUDA_NAME = re.compile(
    r"\b(?:cu(?:blas|fft|sparse|solver|dnn)(?=[A-Z])|CU(?:BLAS|FFT|SPARSE|SOLVER|DNN)_|nccl(?=[A-Z])|NCCL_)\w*"
)
_TORCH_7_FUNCTION = re.compile(r"\bTH(?:Byte|Char|Short|Int|Long|Float|Double|Half)(?:Tensor|Storage)_\w+(?=\s*\()")
_DEFINED_BY_SOURCE = (
    re.compile(r"\btypedef\b[^;{}()]*?\b(\w+)\s*;"),
    re.compile(r"\b(?:struct|class|enum(?:\s+class)?)\s+(\w+)\s*\{"),
    re.compile(r"\b(?:const|constexpr)\s+(?:[\w:]+[\s*&]+)+(\w+)\s*[={]"),
)
"""Match a handle or a constant that a source defines itself, so that it does not need the library's header."""
_CUDA_HEADERS = {
    "cublas": "cublas_v2.h",
    "cudnn": "cudnn.h",
    "cufft": "cufft.h",
    "cusolver": "cusolverDn.h",
    "cusparse": "cusparse.h",
    "nccl": "nccl.h",
}
"""The header of each NVIDIA library, by the prefix of the library's names."""
_TYPES = frozenset(
    ("hipfftResult", "hipfftType", "ncclComm", "ncclUniqueId", "cufftResult", "cufftType", "cusolverDnParams")
)
"""Types whose names do not end in ``_t``."""


@dataclass(frozen=True)
class Stub:
    """A row of ``stubs.csv``: a pattern of header names, the stub that replaces them, and the library."""

    pattern: str
    header: str
    library: str


@dataclass(frozen=True)
class Library:
    """A row of ``libraries.csv``: the real library that a stub replaces.

    Attributes:
        name: The library, as ``stubs.csv`` names it.
        header: A header whose presence shows that the library is installed.
        place: Where to search for it: folders, ``rocm`` (an installed ROCm) or ``torch`` (the torch of parity's
            environment). Without a place, the stub is always used.
        folders: The library's folders in a place that several libraries share.
        first: A header to include before the real headers.
        defines: Flags for the real headers as well as the stub.
        nvcc: The stub also serves the CUDA side.
        stub_used: When the stub is used, for users.
    """

    name: str
    header: str
    place: str
    folders: tuple[str, ...]
    first: str
    defines: tuple[str, ...]
    nvcc: bool
    stub_used: str

    def search_path(self, rocm: Path | None = None) -> tuple[Path, ...]:
        """Return the folders to search for the real headers; empty if the library is not installed.

        AMD's libraries are searched in the folder ``rocm``, or without it in an installed ROCm.
        """
        wanted = (self.header, *self.folders)
        paths = _search_paths(self.place, rocm) if self.place else ()
        return next((path for path in paths if all(_find(name, path) for name in wanted)), ())

    def link_into(self, folder: Path, path: Sequence[Path]) -> tuple[Path, ...]:
        """Return folders of links below ``folder`` that contain the real headers of a search path, and nothing else."""
        for name in self.folders:
            folder.mkdir(parents=True, exist_ok=True)
            if (found := _find(name, path)) and not (folder / name).is_symlink():
                (folder / name).symlink_to(found.resolve(), target_is_directory=True)
        return (folder,) if self.folders else tuple(path)


@dataclass(frozen=True)
class _Need:
    """A row of ``needs.csv``: names of a library, and advice for a source that needs them."""

    pattern: re.Pattern[str]
    sentence: str


_STUBS = read_rows(TABLE, Stub)
_LIBRARIES = {library.name: library for library in read_rows(LIBRARIES, Library)}
_NEEDS = read_rows(NEEDS, _Need)


@dataclass(frozen=True)
class Choice:
    """The real libraries and stubs for the headers that a project includes and does not contain.

    ``stubs`` maps header names to stubs; ``real`` has, for each library that is used itself, its search path.
    """

    stubs: Mapping[str, str]
    real: Mapping[Library, tuple[Path, ...]]
    flags: tuple[str, ...] = ()


def choose(headers: Iterable[str], stubbed: Collection[str] = (), rocm: Path | None = None) -> Choice:
    """Choose the real library or the stub for each of these headers that the tables have.

    The real library is used if it is found and has all headers that the source includes of it. ``stubbed`` are
    libraries whose real headers do not compile for the device. ``rocm`` is as in ``Library.search_path``.
    """
    known = {header: stub for header in headers if (stub := stub_for(header))}
    real: dict[Library, tuple[Path, ...]] = {}
    flags: list[str] = []
    for name in dict.fromkeys(stub.library for stub in known.values()):
        library = _LIBRARIES[name]
        path = () if name in stubbed or os.environ.get(POLICY) == "always" else library.search_path(rocm)
        own = [header for header, stub in known.items() if stub.library == name]
        if path and all(_find(header, path) for header in own):
            real[library] = path
        flags += library.defines
    stubs = {header: stub.header for header, stub in known.items() if _LIBRARIES[stub.library] not in real}
    return Choice(stubs, real, tuple(flags))


def real_libraries(headers: Iterable[str], rocm: Path | None = None) -> Iterator[str]:
    """Generate a cache key for the real libraries that sources which include these headers may be built with."""
    mapped = header_rules()
    headers = tuple(headers)
    named = (*headers, *(mapped[name].hip for name in headers if name in mapped))
    for library, path in choose(named, rocm=rocm).real.items():
        yield from ("library", *library_stamp(library, path))


def library_stamp(library: Library, path: Sequence[Path]) -> Iterator[str]:
    """Generate a cache key for the real headers of a library in its search path."""
    yield from (library.name, *map(str, path))
    found = (_find(name, path) for name in (library.header, *library.folders))
    yield from (str(each.stat().st_mtime_ns) for each in found if each)


def libraries() -> tuple[Library, ...]:
    """Return all libraries that have a stub."""
    return tuple(_LIBRARIES.values())


@functools.cache
def stub_for(header: str) -> Stub | None:
    """Return the first row of the table whose pattern matches a header."""
    return next((stub for stub in _STUBS if fnmatchcase(header, stub.pattern)), None)


def stubbed_libraries(headers: Iterable[str]) -> Iterator[Library]:
    """Generate the libraries with a place, whose real headers could replace these stubs."""
    for library in dict.fromkeys(_LIBRARIES[stub.library] for header in headers if (stub := stub_for(header))):
        if library.place:
            yield library


def cuda_stub(header: str) -> str:
    """Return the stub of a header on the CUDA side; empty if it does not have a stub.

    Stubs replace CUDA's own headers only if nothing but host code needs them.
    """
    stub = stub_for(header)
    return cuda_library(header) or (stub.header if stub and _LIBRARIES[stub.library].nvcc else "")


def cuda_library(header: str) -> str:
    """Return the stub of a header of cuBLAS or a similar library on the CUDA side; empty for other headers."""
    return "parity/cuda_libraries.h" if _CUDA_LIBRARY.fullmatch(header) else ""


def forwarding_header(stub: str) -> str:
    """Return the text of a header that includes a stub, even inside ``extern "C"``, which forbids templates.

    Macros of one letter, such as N, do not change the names in the stub.
    """
    hidden = "".join(f'#pragma push_macro("{letter}")\n#undef {letter}\n' for letter in string.ascii_uppercase)
    restored = "".join(f'#pragma pop_macro("{letter}")\n' for letter in string.ascii_uppercase)
    return f'{hidden}extern "C++" {{\n#include <{stub}>\n}}\n{restored}'


def needed_for(name: str) -> str:
    """Return advice on the library that a name belongs to; empty if parity's headers should have the name."""
    return next((need.sentence for need in _NEEDS if need.pattern.fullmatch(name)), "")


def library_of(stub: str) -> str:
    """Return the library that a stub such as ``parity/thrust.h`` replaces; empty for any other header."""
    name = stub.removesuffix(".h")
    return next((row.library for row in _STUBS if name.startswith(row.header.removesuffix(".h"))), "")


def _search_paths(place: str, rocm: Path | None) -> Iterator[tuple[Path, ...]]:
    """Generate the search paths that a place of ``libraries.csv`` stands for, the preferred one first."""
    if place == "rocm" and rocm:
        yield (rocm,)
    elif place == "rocm":
        yield from ((Path(root, "include"),) for root in (os.environ.get("ROCM_PATH"), "/opt/rocm", "/usr") if root)
    elif place == "torch":
        for root in package_folders("torch"):
            include = root / "include"
            yield include, include / "torch" / "csrc" / "api" / "include", Path(sysconfig.get_path("include"))
    else:
        yield tuple(map(Path, place.split()))


def _find(name: str, path: Iterable[Path]) -> Path | None:
    return next((found for folder in path if (found := folder / name).exists()), None)


def library_names(texts: Iterable[str], *, cuda: Path | None = None) -> str:
    """Return a header that declares the names that HIP sources use from AMD's host libraries.

    With ``cuda``, the folder of CUDA's headers, the sources are CUDA and the libraries NVIDIA's. A library whose header
    is in that folder is included instead.

    A name that ends in ``_t`` becomes a type, an upper-case name a constant, any other name a function of any
    arguments. The handles that torch's stub mentions are always declared. A macro of the same name takes precedence.
    """
    library = "cu" if cuda else "hip"
    texts = tuple(texts)
    names = {f"{library}blasHandle_t", f"{library}blasStatus_t", f"{library}sparseHandle_t"}
    for text in texts:
        names |= set((_CUDA_NAME if cuda else _HIP_NAME).findall(text))
    names -= _declared_by_stubs().union(*(defined.findall(text) for defined in _DEFINED_BY_SOURCE for text in texts))
    real = {} if cuda is None else {name: each for name, each in _CUDA_HEADERS.items() if (cuda / each).is_file()}
    names = {name for name in names if not name.lower().startswith(tuple(real))}
    lines = [f"#include <{header}>" for header in real.values()]
    lines += [
        f"template <class... Arguments> ::parity_stub::Anything {name}(Arguments&&...);"
        for name in sorted(set().union(*map(_TORCH_7_FUNCTION.findall, texts)))
    ]
    for place, name in enumerate(sorted(names)):
        lines += [f"#ifndef {name}", _declaration(name, place), "#endif"]
    return "\n".join(("#pragma once", "#include <parity/anything.h>", *lines, ""))


def _declaration(name: str, place: int) -> str:
    if name.isupper():
        return f"constexpr int {name} = {0 if name.endswith(('_SUCCESS', '_OP_N')) else place + 1};"
    if name.endswith("_t") or name in _TYPES:
        return f"struct {name} : parity_stub::LibraryType {{ using LibraryType::LibraryType; }};"
    return f"template <class... Arguments> int {name}(Arguments&&...);"


@functools.cache
def _declared_by_stubs() -> frozenset[str]:
    headers = ("libraries.h", "cuda_libraries.h", "hiprand_kernel.h")
    texts = [STUBS.joinpath("parity", name).read_text(encoding="utf-8") for name in headers]
    return frozenset(name for text in texts for known in (_HIP_NAME, _CUDA_NAME) for name in known.findall(text))
