"""The C++ headers that parity ships, and the names that header folders have in listings."""

from __future__ import annotations

from pathlib import Path

HEADERS = Path(__file__).parents[1] / "include"
"""The root of parity's headers."""

COMPAT = HEADERS / "compat"
"""Functions that AMD's headers lack. Searched before AMD's headers, so that they can also be wrapped."""

FALLBACK = HEADERS / "fallback"
"""A reimplementation of a part of HIP's device headers, used when AMD's headers are not available."""

STUBS = HEADERS / "stubs"
"""Small replacements for the headers of host libraries such as PyTorch. Searched last."""

SUPPLEMENT = HEADERS / "supplement"
"""Headers that old versions of ROCm lack. Searched after ROCm's."""

EMPTY_SOURCE = SUPPLEMENT / "empty.hip"
"""An empty source file for queries to a compiler."""

HIP_RUNTIME = "hip/hip_runtime.h"
"""The counterpart of the header that nvcc includes implicitly. hipcc does not include it."""

HEADERS_ALIAS = "parity-include"
"""The name of ``HEADERS`` in listings, so that listings do not depend on the machine."""

CUDA_ALIAS = "cuda-include"
"""The name of the folder with CUDA's headers in PTX."""

HIP_ALIAS = "hip-include"
"""The name of the folder with AMD's headers in listings."""

LIBRARY_ALIAS = "host-include"
"""The name of the folder with the host's C and C++ library in listings."""
