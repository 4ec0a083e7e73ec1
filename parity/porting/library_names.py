"""Declares the names that host code uses from libraries such as hipBLAS, whose stubs do not declare functions."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from pathlib import Path

from parity.compilers.include import STUBS

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
