"""CUDA to HIP, token by token.

Identifiers outside comments and strings, and the names of included headers, are replaced by the table
``cuda_to_hip.csv``; nothing else changes, so that every line keeps its number. What the table cannot translate is
reported, never guessed.

One rule is more than a name: ``__shfl_xor_sync(0xffffffff, v, m)`` becomes ``__shfl_xor(v, m, 32)``, and the other
shuffles alike. All lanes of a warp take part, so the mask says nothing; and a group of 32 lanes stays one where a
wavefront has 64. Any other mask is a hazard.

What stands opposite to ``#ifdef __HIPCC__`` (its ``#else``, the body of ``#ifndef``) is for CUDA only: it stays as it
is, and nothing in it is reported.
"""

from __future__ import annotations

import bisect
import csv
import functools
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources

__all__ = ["Finding", "Hipified", "Rule", "defined_macros", "hipify", "included_headers", "table"]

TABLE = "cuda_to_hip.csv"


@dataclass(frozen=True)
class Rule:
    """One row of the table.

    An empty ``hip`` means that HIP has no counterpart. A ``note`` says what to do instead or, beside a counterpart, in
    what way that one differs.
    """

    category: str
    cuda: str
    hip: str
    note: str


@dataclass(frozen=True)
class Finding:
    """Something in the source that needs a person: where it is (line and column from 1), and what to do."""

    name: str
    file: str
    line: int
    column: int
    advice: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.name}: {self.advice}"


@dataclass(frozen=True)
class Hipified:
    """HIP text of one file, how often each CUDA name was replaced, and what is left to a person.

    ``unmapped`` names have no HIP counterpart or are unknown to the table; ``hazards`` were translated or kept, but
    mean something different on AMD GPUs.
    """

    text: str
    replaced: Mapping[str, int]
    unmapped: tuple[Finding, ...] = ()
    hazards: tuple[Finding, ...] = ()


# A pp-number is a token of its own, so that the quote in 1'000'000 does not open a character literal.
_TOKEN = re.compile(
    r"""
      (?P<comment> //(?:\\\r?\n|[^\n])* | /\*.*?(?:\*/|\Z) )
    | (?P<string> (?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?(?:\)(?P=delimiter)"|\Z)
                | "(?:\\.|[^"\\\n])*"? | '(?:\\.|[^'\\\n])*'? )
    | (?P<include> (?:\#[ \t]*include(?:_next)?|\b__has_include[ \t]*\()[ \t]*
                 (?P<open>[<"]) (?P<header>[^>"\n]+) [>"] )
    | (?P<conditional> ^[ \t]*\#[ \t]*(?P<directive>ifdef|ifndef|if|elif|else|endif)\b )
    | (?P<shuffle> __shfl(?:_up|_down|_xor)?)_sync (?P<parenthesis> \s*\(\s*)
                 (?:\(unsigned(?:[ ]int)?\)[ ]?)? (?:0[xX][fF]{8}|~[ ]?0|-[ ]?1)[uUlL]* [ \t]*,[ \t]*
    | (?P<close> \) )
    | (?P<number> \.?[0-9](?:[eEpP][+-]|'(?=\w)|[\w.])* )
    | (?P<name> [A-Za-z_$][\w$]* )
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
# The whole of a condition, so that "#if defined(__HIPCC__) && ..." is not taken for one of these.
_FOR_HIP = re.compile(
    r"[ \t]*(?P<not>!)?[ \t]*(?:defined\b)?[ \t]*\(?[ \t]*(?:__HIPCC__|__HIP__|__HIP_PLATFORM_AMD__)[ \t]*\)?[ \t]*"
    r"(?=/[/*]|\r?$)",
    re.MULTILINE,
)
_ARGUMENTS = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|[()\[\]{},<]", re.DOTALL)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)", re.MULTILINE)

# Names of CUDA's own namespaces: cuda or cu and a capital, the libraries, and the upper-case prefixes. Plain words
# of a program (cumsum, cutoff, cu_seqlens, nvals) are not among them.
_LOOKS_LIKE_CUDA = re.compile(
    r"""cuda[A-Z]\w* | cu[A-Z][A-Za-z]\w* | __nv_?[a-z]\w* | nv_bfloat\w* | nv_fp\w+ | CU[a-z]\w+ | CUDART_\w+
      | __CUDA\w+ | CUDA_(?:SUCCESS|ERROR|VERSION|[RC]_)\w* | CU_[A-Z]\w+
      | cu(?:blas|blasLt|sparse|solver|fft|rand|dnn|tensor)(?:[A-Z]\w*|_\w+|\d\w*)
      | CU(?:BLAS|SPARSE|SOLVER|FFT|RAND|DNN)_\w+ | nv(?:rtc|tx|ml|jpeg|JitLink)[A-Z]\w* | NV(?:RTC|TX|ML)_\w+""",
    re.VERBOSE,
)
_UNKNOWN = "looks like a CUDA name, but HIP's counterpart is not known; port it by hand"
_ASM = "inline PTX has no meaning on AMD GPUs; write it in C++ or with an __builtin_amdgcn_ function"
_CUDA_HEADER = re.compile(r"(?:cuda|cub/|cublas|cudnn|cufft|curand|cusparse|cusolver|cutlass|cute/|nv)[\w/.]*")
# Namespaces are short words that a program may use for something else.
_NAMESPACES = frozenset({"cub", "nvcuda"})
_NAMESPACE_BEFORE = re.compile(r"\bnamespace\s+$")
_NAMESPACE_AFTER = re.compile(r"\s*::")


@functools.cache
def table() -> tuple[Mapping[str, Rule], Mapping[str, Rule]]:
    """The rules for identifiers and those for headers, each by CUDA name."""
    names: dict[str, Rule] = {}
    headers: dict[str, Rule] = {}
    text = resources.files(__package__).joinpath(TABLE).read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        rule = Rule(row["category"], row["cuda"], row["hip"], row["note"])
        (headers if rule.category == "header" else names)[rule.cuda] = rule
    return names, headers


def hipify(text: str, file: str, *, own: Collection[str] = ()) -> Hipified:
    """The HIP form of CUDA source ``text``, which findings call ``file``.

    ``own`` are names that the program itself defines elsewhere (macros of its headers); they are never reported. The
    result has the same lines as ``text``. It includes no header that the source did not ask for: nvcc's implicit
    ``cuda_runtime.h`` is the caller's to add.
    """
    names, headers = table()
    defined = {*own, *defined_macros(text)}
    starts = [0, *(m.end() for m in re.finditer("\n", text))]
    replaced: Counter[str] = Counter()
    unmapped: list[Finding] = []
    hazards: list[Finding] = []

    def finding(name: str, at: int, advice: str) -> Finding:
        line = bisect.bisect_right(starts, at)
        return Finding(name, file, line, at - starts[line - 1] + 1, advice)

    def apply(rule: Rule | None, name: str, at: int) -> str:
        if rule is None:
            unmapped.append(finding(name, at, _UNKNOWN))
            return name
        if rule.note:
            (hazards if rule.hip else unmapped).append(finding(name, at, rule.note))
        if not rule.hip or rule.hip == name:
            return name
        replaced[name] += 1
        return rule.hip

    widths: dict[int, str] = {}
    conditionals = _Conditionals()

    def shuffle(match: re.Match[str]) -> str:
        name = match["shuffle"] + "_sync"
        end, count = _call(text, match.end())
        if count not in (2, 3):
            return apply(names[name], name, match.start()) + match[0][len(name) :]
        if count == 2:
            widths[end] = ", 32"
        replaced[name] += 1
        return match["shuffle"] + match["parenthesis"]

    def translate(match: re.Match[str]) -> str:
        if match["conditional"]:
            conditionals.meet(match["directive"], _FOR_HIP.match(text, match.end()))
        if conditionals.cuda_only:
            return match[0]
        if match["shuffle"]:
            return shuffle(match)
        if match["close"]:
            return widths.get(match.start(), "") + ")"
        if name := match["name"]:
            if name in defined:
                return name
            if name in ("asm", "__asm", "__asm__"):
                unmapped.append(finding(name, match.start(), _ASM))
                return name
            if name in _NAMESPACES and not (
                _NAMESPACE_AFTER.match(text, match.end()) or _NAMESPACE_BEFORE.search(text[: match.start()][-40:])
            ):
                return name
            rule = names.get(name)
            return apply(rule, name, match.start()) if rule or _LOOKS_LIKE_CUDA.fullmatch(name) else name
        if header := match["header"]:
            rule = headers.get(header)
            # A quoted header is one of the program's own unless it is a known one of CUDA's.
            if rule or (match["open"] == "<" and _CUDA_HEADER.fullmatch(header)):
                return match[0].replace(header, apply(rule, header, match.start("header")))
        return match[0]

    return Hipified(_TOKEN.sub(translate, text), replaced, tuple(unmapped), tuple(hazards))


class _Conditionals:
    """The conditionals around a place in a source.

    Of each that is open, ``_open`` has whether this branch is for CUDA only, and whether the branches after it are.
    """

    def __init__(self) -> None:
        self._open: list[tuple[bool, bool]] = []

    @property
    def cuda_only(self) -> bool:
        """Whether HIP never compiles what is here."""
        return any(now for now, _ in self._open)

    def meet(self, directive: str, for_hip: re.Match[str] | None) -> None:
        """Go past a directive; ``for_hip`` is its condition, if that is only whether HIP compiles."""
        if directive.startswith("if"):
            without = for_hip is not None and (directive == "ifndef") != bool(for_hip["not"])
            self._open.append((without, for_hip is not None and not without))
        elif self._open:
            _, then = self._open.pop()
            if directive != "endif":
                self._open.append((then, then))


def _call(text: str, start: int) -> tuple[int, int]:
    """Where the argument list ends whose first argument begins at ``start``, and how many arguments it has.

    No number is given (0) if the list has no end or may hold template arguments, whose commas look the same.
    """
    depth, count = 0, 1
    for match in _ARGUMENTS.finditer(text, start):
        token = match[0]
        if token == ")" and depth == 0:
            return match.start(), count
        if token == "<":
            break
        count += token == "," and depth == 0
        depth += (token in "([{") - (token in ")]}")
    return start, 0


def included_headers(text: str) -> Iterator[str]:
    """Names in the quoted ``#include`` lines of a source, in order, whatever conditionals surround them."""
    for match in _TOKEN.finditer(text):
        if match["header"] and match["open"] == '"':
            yield match["header"]


def defined_macros(text: str) -> set[str]:
    """Names of the macros that a source defines."""
    return set(_DEFINE.findall(text))
