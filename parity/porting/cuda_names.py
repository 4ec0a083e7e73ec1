"""CUDA's names and their HIP counterparts: the table ``cuda_to_hip.csv``, and how to recognize other names of CUDA."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from parity.compilers.lexing import code
from parity.platform.files import read_rows

TABLE = Path(__file__).with_name("cuda_to_hip.csv")

# Names in CUDA's style: cuda or cu and a capital, the libraries, and the upper-case prefixes. Ordinary words of a
# program (cumsum, cutoff, cu_seqlens, nvals) do not match.
_CUDA_NAME = re.compile(
    r"""cuda[A-Z]\w* | cu[A-Z][A-Za-z]\w* | __nv_?[a-z]\w* | nv_bfloat\w* | nv_fp\w+ | CU[a-z]\w+ | CUDART_\w+
      | __CUDA\w+ | CUDA_(?:SUCCESS|ERROR|VERSION|[RC]_)\w* | CU_[A-Z]\w+
      | cu(?:blas|blasLt|sparse|solver|fft|rand|dnn|tensor)(?:[A-Z]\w*|\d\w*) | curand_\w+
      | CU(?:BLAS|SPARSE|SOLVER|FFT|RAND|DNN)_\w+ | nv(?:rtc|tx|ml|jpeg|JitLink)[A-Z]\w* | NV(?:RTC|TX|ML)_\w+""",
    re.VERBOSE,
)
CUDA_HEADER = re.compile(
    r"(?!cuda/std/\w+$)(?:cuda|cublas|cudnn|cufft|curand|cusparse|cusolver|cutlass|cute/|nv)[\w/.]*"
)
"""Matches a header of CUDA. Parity supplies ``cuda/std`` under the same names."""
_CUB_HEADER = re.compile(r"cub/[\w/]+\.cuh")
_DECLARED = re.compile(r"(?P<before>[A-Za-z_]\w*)(?:\s*[*&]+\s*|\s+)(?P<name>[A-Za-z_]\w*)\s*(?=[(;={,\[:])")
"""Matches a name that follows a type; ``return f(x)`` is not a declaration (``NO_TYPE``)."""
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)", re.MULTILINE)

DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\r?\n|[^\n])*", re.MULTILINE)
NO_TYPE = frozenset(["return", "else", "case", "throw", "new", "delete", "goto", "namespace", "do", "co_return", "not"])
"""Words in front of a name that are not a type."""


@dataclass(frozen=True)
class Rule:
    """A row of the table: a CUDA name and its HIP counterpart.

    ``hip`` is empty if HIP lacks a counterpart. ``note`` describes the alternative or, next to a counterpart, the
    difference.
    """

    category: str
    cuda: str
    hip: str
    note: str


def name_rules() -> Mapping[str, Rule]:
    """Return the rules for identifiers by CUDA name."""
    return _tables()[0]


def header_rules() -> Mapping[str, Rule]:
    """Return the rules for headers by CUDA name."""
    return _tables()[1]


def header_rule(header: str) -> Rule | None:
    """Return the rule for a header. All headers of CUB have one counterpart."""
    rules = header_rules()
    return rules.get(header) or (rules["cub/cub.cuh"] if _CUB_HEADER.fullmatch(header) else None)


def counterpart(name: str) -> str:
    """Return HIP's identifier for a CUDA name; empty if HIP lacks it or has the same name."""
    rule = name_rules().get(name)
    return rule.hip if rule and rule.hip != name and rule.hip.isidentifier() else ""


def looks_like_cuda(name: str) -> bool:
    """Return whether a name is in CUDA's style; it need not be in the table."""
    return bool(_CUDA_NAME.fullmatch(name))


def declared_names(text: str) -> frozenset[str]:
    """Return the names in CUDA's style that a source appears to declare itself."""
    found = _DECLARED.finditer(DIRECTIVE.sub("", code(text)))
    return frozenset(
        match["name"] for match in found if match["before"] not in NO_TYPE and looks_like_cuda(match["name"])
    )


def defined_macros(text: str) -> set[str]:
    """Return the names of the macros that a source defines."""
    return set(_DEFINE.findall(text))


@functools.cache
def _tables() -> tuple[Mapping[str, Rule], Mapping[str, Rule]]:
    names: dict[str, Rule] = {}
    headers: dict[str, Rule] = {}
    for rule in read_rows(TABLE, Rule):
        (headers if rule.category == "header" else names)[rule.cuda] = rule
    return names, headers
