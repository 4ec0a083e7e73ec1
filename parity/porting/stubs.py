"""Headers of libraries that are not here, in whose place small ones of parity's own stand (``include/stubs``).

The table ``stubs.csv`` says which header is answered by which of them. A real header, in the folders of a project or in
an installed ROCm, wins.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from parity.platform.files import rows_of

__all__ = [
    "LIBRARY_NAMES",
    "Stub",
    "answered",
    "cuda_library",
    "cuda_stub",
    "library_names",
    "library_of",
    "needed_for",
    "stub_of",
    "switches",
]

TABLE = Path(__file__).with_name("stubs.csv")
NEEDS = Path(__file__).with_name("needs.csv")

#: What the builds of a library define for AMD's GPUs, by the library.
_SWITCHES = {"PyTorch": ("-DUSE_ROCM=1",)}

LIBRARY_NAMES = "parity/library_names.h"
"""The header that ``library_names`` makes."""

_LIBRARY_NAME = re.compile(
    r"\b(?:hip(?:blas|fft|sparse|solver|rand)(?=[A-Z])|HIP(?:BLAS|FFT|SPARSE|SOLVER|RAND)|rocblas_|miopen"
    r"|cudnn(?=[A-Z])|CUDNN_|nccl(?=[A-Z])|NCCL_)\w*"
)
_CUDA_LIBRARY_NAME = re.compile(
    r"\b(?:cu(?:blas|fft|sparse|solver|dnn)(?=[A-Z])|CU(?:BLAS|FFT|SPARSE|SOLVER|DNN)_|nccl(?=[A-Z])|NCCL_)\w*"
)
_TORCH_NAME = re.compile(r"\bTH(?:Byte|Char|Short|Int|Long|Float|Double|Half)(?:Tensor|Storage)_\w+(?=\s*\()")
"""A function of Torch 7's library for the host."""
_OWN = (
    re.compile(r"\btypedef\b[^;{}()]*?\b(\w+)\s*;"),
    re.compile(r"\b(?:struct|class|enum(?:\s+class)?)\s+(\w+)\s*\{"),
    re.compile(r"\b(?:const|constexpr)\s+(?:[\w:]+[\s*&]+)+(\w+)\s*[={]"),
)
"""Names that a source defines itself: a handle, so that its header needs none of the library's, or a constant."""
_CUDA_LIBRARY = re.compile(r"(?:cublas|cufft|cusparse|cusolver|cudnn|nccl)\w*\.h")
_HEADERS = {
    "cublas": "cublas_v2.h",
    "cudnn": "cudnn.h",
    "cufft": "cufft.h",
    "cusolver": "cusolverDn.h",
    "cusparse": "cusparse.h",
    "nccl": "nccl.h",
}
"""The headers of NVIDIA's libraries, by how their names begin."""
_OF_BOTH = frozenset(
    ("PyTorch", "GLM", "the helpers of CUDA's samples", "Torch 7", "glog", "dmlc-core's logging", "{fmt}")
)
"""The libraries whose stubs serve CUDA's compiler, too (``include/cuda``)."""
_LIBRARY_TYPES = frozenset(
    ("hipfftResult", "hipfftType", "ncclComm", "ncclUniqueId", "cufftResult", "cufftType", "cusolverDnParams")
)
"""Types whose names do not end as those of types do."""


@dataclass(frozen=True)
class Stub:
    """One row of the table: the headers it is for (a pattern), the header of parity's, and the library's name."""

    header: str
    stub: str
    what: str


@functools.cache
def stub_of(header: str) -> Stub | None:
    """The stub that answers ``#include`` of ``header``, if there is one."""
    return next((stub for stub in _table() if fnmatchcase(header, stub.header)), None)


def switches(headers: Iterable[str]) -> tuple[str, ...]:
    """The flags with which the libraries of these headers have extensions built for AMD's GPUs."""
    libraries = dict.fromkeys(stub.what for header in headers if (stub := stub_of(header)))
    return tuple(flag for library in libraries for flag in _SWITCHES.get(library, ()))


def cuda_stub(header: str) -> str:
    """The stub that answers a header on the CUDA side; empty for any other header.

    Of CUDA's own headers only those are answered that host code alone needs: nvcc has the others.
    """
    stub = stub_of(header)
    return cuda_library(header) or (stub.stub if stub and stub.what in _OF_BOTH else "")


def cuda_library(header: str) -> str:
    """The stub that answers a header of cuBLAS and the like on the CUDA side; empty for any other header."""
    return "parity/cuda_libraries.h" if _CUDA_LIBRARY.fullmatch(header) else ""


def answered(stub: str) -> str:
    """The text of a header that a stub answers, which may be included in ``extern "C"``, where no template can be."""
    return f'extern "C++" {{\n#include <{stub}>\n}}\n'


def library_names(texts: Iterable[str], *, cuda: Path | None = None) -> str:
    """Declarations of what host code in these HIP texts uses of AMD's libraries, or in CUDA texts of NVIDIA's.

    ``cuda`` is the folder of CUDA's headers. A library whose header is there is included in place of its names.

    What ends in ``_t`` is a type, upper-case names are constants, all others functions that take anything. Of the
    types that torch's stub names, all are there. What is a macro where the header is included gives way to that;
    that one is defined somewhere says nothing, for it may be in a branch that is not taken.
    """
    library = "cu" if cuda else "hip"
    texts = tuple(texts)
    names = {f"{library}blasHandle_t", f"{library}blasStatus_t", f"{library}sparseHandle_t"}
    for text in texts:
        names |= set((_CUDA_LIBRARY_NAME if cuda else _LIBRARY_NAME).findall(text))
    names -= _written().union(*(own.findall(text) for own in _OWN for text in texts))
    here = {} if cuda is None else {name: each for name, each in _HEADERS.items() if (cuda / each).is_file()}
    names = {name for name in names if not name.lower().startswith(tuple(here))}
    lines = [f"#include <{header}>" for header in here.values()]
    lines += [
        f"template <class... Arguments> ::parity_stub::Anything {name}(Arguments&&...);"
        for name in sorted(set().union(*map(_TORCH_NAME.findall, texts)))
    ]
    for place, name in enumerate(sorted(names)):
        lines.append(f"#ifndef {name}")
        if name.isupper():
            success = name.endswith(("_SUCCESS", "_OP_N"))
            lines.append(f"constexpr int {name} = {0 if success else place + 1};")
        elif name.endswith("_t") or name in _LIBRARY_TYPES:
            lines.append(f"struct {name} : parity_stub::LibraryType {{ using LibraryType::LibraryType; }};")
        else:
            lines.append(f"template <class... Arguments> int {name}(Arguments&&...);")
        lines.append("#endif")
    return "\n".join(("#pragma once", "#include <parity/anything.h>", *lines, ""))


def needed_for(name: str) -> str:
    """The library that code needs for a name that parity's headers do not have; empty for any other name."""
    return next((sentence for pattern, sentence in _needs() if pattern.fullmatch(name)), "")


def library_of(stub: str) -> str:
    """The library in whose place a header of parity's stands (``parity/thrust.h``); empty for any other header."""
    folder = stub.removesuffix(".h")
    return next((row.what for row in _table() if folder.startswith(row.stub.removesuffix(".h"))), "")


@functools.cache
def _needs() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(row["pattern"]), row["sentence"]) for row in rows_of(NEEDS))


@functools.cache
def _written() -> frozenset[str]:
    """Names of these libraries that a header of parity's declares itself."""
    headers = ("libraries.h", "cuda_libraries.h", "hiprand_kernel.h")
    texts = [
        TABLE.parents[1].joinpath("include").joinpath("stubs/parity", name).read_text(encoding="utf-8")
        for name in headers
    ]
    return frozenset(
        name for text in texts for known in (_LIBRARY_NAME, _CUDA_LIBRARY_NAME) for name in known.findall(text)
    )


@functools.cache
def _table() -> tuple[Stub, ...]:
    return tuple(Stub(row["header"], row["stub"], row["what"]) for row in rows_of(TABLE))
