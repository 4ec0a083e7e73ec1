"""Recognizes device code by CUDA's keywords and by the macros that stand for them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from parity.compilers.lexing import WORD

SIDE_WORD = re.compile(r"\b__(?:host|device|global)__\b")
KERNEL_WORD = re.compile(r"\b__global__\b")
HOST_WORD, DEVICE_WORD = re.compile(r"\b__host__\b"), re.compile(r"\b__device__\b")
DEVICE_ONLY = re.compile(r"^(?!.*\b__host__\b).*\b__device__\b", re.DOTALL)
"""Matches code for the device only."""

_DEVICE = re.compile(r"\b(?:__device__|__global__|__constant__|__shared__|__managed__)\b")
_DEVICE_MACRO = re.compile(r"\b[A-Z0-9_]*DEVICE[A-Z0-9_]*\b|\b[A-Z0-9_]*GLOBAL_?FUNC[A-Z0-9_]*\b")
"""Matches macros that libraries define as ``__host__ __device__``, in headers that may be absent."""
_WORDS_AT_END = re.compile(
    r"\b__(?:device|global|constant|shared|managed|host|launch_bounds)__(?:\s*\([^()]*\))?"
    r"(?:\s+(?:static|inline|extern|const|volatile|constexpr|__\w+__(?:\s*\([^()]*\))?))*\s*$"
)
_MACRO_AT_END = re.compile(r"(?<![\w#])[A-Z][A-Z0-9_]*[ \t]+(?:(?:explicit|inline|static|constexpr|virtual)\s+)+$")
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:[^\n]*\\\r?\n)*[^\n]*)", re.MULTILINE)


def is_device(text: str, macros: frozenset[str], *, guess: bool = True) -> bool:
    """True if code contains one of CUDA's device keywords or of these macros.

    With ``guess``, macros whose names suggest it count as well (``MY_DEVICE_FUNC``).
    """
    named = guess and _DEVICE_MACRO.search(text)
    return bool(_DEVICE.search(text) or named or macros & set(WORD.findall(text)))


def ends_in_device_words(text: str, macros: frozenset[str]) -> bool:
    """True if the code before a declaration ends in words that make it device code.

    An unknown macro before a declaration can make the parser separate such words from it.
    """
    words = _MACRO_AT_END.search(text)
    return bool(_WORDS_AT_END.search(text) or (words and is_device(words[0], macros)))


def device_macros(texts: Iterable[str], *, anywhere: bool = False, words: re.Pattern[str] = _DEVICE) -> frozenset[str]:
    """Return the macros whose definitions contain one of these words, directly or through other macros.

    Only a macro's last definition counts, often the one for host compilers; with ``anywhere``, all definitions count.
    """
    bodies = [each for text in texts for each in _DEFINE.findall(text)]
    bodies = bodies if anywhere else [*dict(bodies).items()]
    found = {name for name, body in bodies if words.search(body)}
    while more := {n for n, body in bodies if n not in found and found & set(WORD.findall(body))}:
        found |= more
    return frozenset(found)
