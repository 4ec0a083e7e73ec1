"""CUDA to HIP, token by token.

Identifiers outside comments and strings, and the names of included headers, are replaced by the table
``cuda_to_hip.csv``; inline PTX becomes C++ where ``ptx.py`` knows how. Every line keeps its number. What cannot be
translated is reported, never guessed.

There are two styles. ``literal`` does what AMD's hipify does, name by name, so that what is tested is the port that
people make: ``__shfl_xor_sync(0xffffffff, v, m)`` stays as it is, and exchanges values among 64 lanes where a wavefront
has 64. ``helpful`` writes out what CUDA means: ``__shfl_xor(v, m, 32)``, and votes among 32 lanes alike; where the mask
is not that of all lanes, it stays, and a shuffle is given its width.

What stands opposite to ``#ifdef __HIPCC__`` (its ``#else``, the body of ``#ifndef``) is for CUDA only: it stays as it
is, and nothing in it is reported. In other lines that AMD's compiler leaves out, names are replaced, and nothing is
reported. A condition that depends on a macro of CUDA's is explained: which of its branches is compiled for AMD.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from parity.compilers.lexing import COMMENT_OR_LITERAL, Lines, Span, arguments, code
from parity.model.finding import Finding
from parity.platform.files import read_table
from parity.porting import inline_ptx
from parity.porting.conditionals import NVCC, Conditionals, Region
from parity.porting.vector_types import short_of_components

__all__ = [
    "HELPFUL",
    "LITERAL",
    "STYLES",
    "Hipified",
    "Rule",
    "counterpart",
    "declared_names",
    "defined_macros",
    "hipify",
    "table",
]

TABLE = Path(__file__).with_name("cuda_to_hip.csv")
LITERAL, HELPFUL = STYLES = ("literal", "helpful")


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
class Hipified:
    """HIP text of one file, how often each CUDA name was replaced, and what is left to a person.

    ``unmapped`` names have no HIP counterpart or are unknown to the table; ``hazards`` were translated or kept, but
    mean something different on AMD GPUs; ``branches`` say which lines are compiled for AMD, where that depends on a
    macro of CUDA's. ``spelled_out`` are the lines that the two styles write differently, in the words of ``helpful``.
    """

    text: str
    replaced: Mapping[str, int]
    unmapped: tuple[Finding, ...] = ()
    hazards: tuple[Finding, ...] = ()
    branches: tuple[Finding, ...] = ()
    spelled_out: tuple[Finding, ...] = ()


# A pp-number is a token of its own, so that the quote in 1'000'000 does not open a character literal.
_TOKEN = re.compile(
    rf"""{COMMENT_OR_LITERAL}
    | (?P<include> (?:\#[ \t]*include(?:_next)?|\b__has_include[ \t]*\()[ \t]*
                 (?P<open>[<"]) (?P<header>[^>"\n]+) [>"] )
    | (?P<directive> ^[ \t]*\#[ \t]*(?:if|ifdef|ifndef|elif|define|undef)\b (?P<rest>(?:\\\r?\n|[^\n])*) )
    | (?P<number> \.?[0-9](?:[eEpP][+-]|'(?=\w)|[\w.])* )
    | (?P<name> [A-Za-z_$][\w$]* )
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)", re.MULTILINE)

# Names of CUDA's own namespaces: cuda or cu and a capital, the libraries, and the upper-case prefixes. Plain words
# of a program (cumsum, cutoff, cu_seqlens, nvals) are not among them.
_LOOKS_LIKE_CUDA = re.compile(
    r"""cuda[A-Z]\w* | cu[A-Z][A-Za-z]\w* | __nv_?[a-z]\w* | nv_bfloat\w* | nv_fp\w+ | CU[a-z]\w+ | CUDART_\w+
      | __CUDA\w+ | CUDA_(?:SUCCESS|ERROR|VERSION|[RC]_)\w* | CU_[A-Z]\w+
      | cu(?:blas|blasLt|sparse|solver|fft|rand|dnn|tensor)(?:[A-Z]\w*|\d\w*) | curand_\w+
      | CU(?:BLAS|SPARSE|SOLVER|FFT|RAND|DNN)_\w+ | nv(?:rtc|tx|ml|jpeg|JitLink)[A-Z]\w* | NV(?:RTC|TX|ML)_\w+""",
    re.VERBOSE,
)
_UNKNOWN = "looks like a CUDA name, but HIP's counterpart is not known; port it by hand"
_AS_UINT3 = "make_uint3({name}.x, {name}.y, {name}.z)"
_LAUNCH_BOUNDS = "__launch_bounds__"
_NO_TEMPLATE = "HIP's is a macro, which a comma between template arguments ends an argument of; in parentheses"
_NO_STRUCT = "HIP's vector types are other names of a class template; left out"
_NO_UINT3 = "HIP's is of a type of its own that does not become a uint3; spelled out"
_RESTRICTED_NUMBER = re.compile(
    r"\b(?:bool|char|short|int|unsigned|long|float|double|size_t|u?int\d+_t)\s+(?P<restrict>__restrict(?:__)?)(?=\s+\w)"
)
_PRAGMA_MACRO = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+\w+[ \t]+(?P<pragma>#[ \t]*pragma[ \t]+(?P<said>[^\n\r\"\\]*[^\s\"\\]))", re.MULTILINE
)
"""A macro that is a ``#pragma``, which only nvcc takes."""
_NO_DIRECTIVE = "clang takes no directive that a macro expands to, nvcc does; _Pragma is for that"
_NO_POINTER = "is for pointers and references only; nvcc takes it for others, and it says nothing there"
_FOR_ALL = "HIP takes one number for all components; CUDA takes it for the first, and 0 for the others"
_FILLED = "HIP's vectors are classes that need each component; the zeros that CUDA takes for the others are spelled out"
_ASM = "inline PTX that is not translated; write it in C++ or with an __builtin_amdgcn_ function"
_CUDA_HEADER = re.compile(r"(?:cuda|cublas|cudnn|cufft|curand|cusparse|cusolver|cutlass|cute/|nv)[\w/.]*")
# Headers of parity's own have these names.
_SUPPLIED_HEADER = re.compile(r"cuda/std/\w+")
_CUB_HEADER = re.compile(r"cub/[\w/]+\.cuh")
# Namespaces are short words that a program may use for something else.
_NAMESPACES = frozenset({"cub", "nvcuda"})
_NAMESPACE_BEFORE = re.compile(r"\bnamespace\s+$")
_NAMESPACE_AFTER = re.compile(r"\s*::")
# Coordinates as a whole are a uint3, or become one, in CUDA alone, where a program may have operators for it. HIP has
# such operators, but none for its dim3.
_COORDINATES = frozenset(("threadIdx", "blockIdx", "blockDim", "gridDim"))
_UINT3_BEFORE = re.compile(r"\buint3\s+(?:const\s*)?&?\s*\w+\s*[=({]\s*$|\bmake_\w+\(\s*$")
_WHOLE = re.compile(r"\s*[;,)}]")
_OPERATOR_BEFORE = re.compile(r"(?<!/)(?<!\*)[-+*/%]\s*$")
_OPERATOR_AFTER = re.compile(r"\s*[-+*/%](?![-+=/*])")
_USING_BEFORE = re.compile(r"\busing\s+namespace\s+$")
_WMMA = re.compile(r"\s*::\s*wmma\b")
_ALIAS = re.compile(r"\s*=")
_TYPE_BEFORE = re.compile(r"\b([A-Za-z_]\w*)\s+$")
_MEMBER_BEFORE = re.compile(r"(?:\.|->|\w\s*::)\s*$")
# What a name follows where it is declared; "return f(x)" declares nothing.
_DECLARED = re.compile(r"(?P<before>[A-Za-z_]\w*)(?:\s*[*&]+\s*|\s+)(?P<name>[A-Za-z_]\w*)\s*(?=[(;={,\[:])")
_DEFINED_AS = re.compile(r"[ \t]+(\w+)[ \t]*\r?$", re.MULTILINE)
_VECTOR_AS_STRUCT = re.compile(
    r"\b(?P<word>struct\s+)(?:u?(?:char|short|int|long|longlong)|float|double)[1-4](?=\s*[*&>,)]|\s+\w+\s*[;,)=\[])"
)
"""Matches a vector type of CUDA's behind the word ``struct``, where it is used and not declared."""
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\r?\n|[^\n])*", re.MULTILINE)
_DIRECTIVE_BEFORE = re.compile(rf"{_DIRECTIVE.pattern}\n", re.MULTILINE)
_NO_TYPE = frozenset(
    ["return", "else", "case", "throw", "new", "delete", "goto", "namespace", "do", "co_return", "not"]
)

_LINE_END = re.compile(r"\\?\r?\n")
_LAUNCH = re.compile(r"(?P<open><<[ \t]*<)[^;{}]*?(?P<close>>>[ \t]*>)(?=\s*\()")
_APART = "nvcc reads it as {whole}, hipcc does not; a port has to write it so"
_SHUFFLES = frozenset(["__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync"])
_ALL_LANES = re.compile(
    r"(?:\(\s*unsigned(?:\s+int)?\s*\)\s*)?(?:0[xX][fF]{8}|~\s*0[xX]?0*|-\s*1)[uUlL]*|UINT_MAX|UINT32_MAX"
)
# What 32 lanes mean where a wavefront may have 64: what stands before and after the arguments of a vote.
_HALF = ">> (__lane_id() & 32)"
_VOTES = {
    "__ballot_sync": ("((unsigned)(__ballot(", f") {_HALF}))"),
    "__any_sync": ("((unsigned)(__ballot(", f") {_HALF}) != 0)"),
    "__all_sync": ("((unsigned)(__ballot(!(", f")) {_HALF}) == 0)"),
}
_ACTIVE = f"((unsigned)(__ballot(1) {_HALF}))"
# HIP's functions take a kernel as an address, as their first or second argument; CUDA's are templates.
_KERNEL_ARGUMENT = {
    "cudaFuncSetAttribute": 0, "cudaFuncSetCacheConfig": 0, "cudaFuncSetSharedMemConfig": 0, "cudaFuncGetAttributes": 1,
    "cudaLaunchKernel": 0, "cudaLaunchCooperativeKernel": 0,
}  # fmt: skip


@functools.cache
def table() -> tuple[Mapping[str, Rule], Mapping[str, Rule]]:
    """The rules for identifiers and those for headers, each by CUDA name."""
    names: dict[str, Rule] = {}
    headers: dict[str, Rule] = {}
    for row in read_table(TABLE):
        rule = Rule(row["category"], row["cuda"], row["hip"], row["note"])
        (headers if rule.category == "header" else names)[rule.cuda] = rule
    return names, headers


def counterpart(name: str) -> str:
    """HIP's identifier in the place of CUDA's; empty if there is none, or it is the same."""
    rule = table()[0].get(name)
    return rule.hip if rule and rule.hip != name and rule.hip.isidentifier() else ""


def hipify(
    text: str,
    file: str,
    *,
    own: Collection[str] = (),
    headers: Collection[str] = (),
    macros: Mapping[str, str] | None = None,
    style: str = LITERAL,
    assembly: str = "",
) -> Hipified:
    """The HIP form of CUDA source ``text``, which findings call ``file``.

    ``own`` are names that the program itself defines elsewhere (in its headers); they are never reported.
    ``headers`` are names in ``#include`` lines that are files of the program, whatever CUDA's are called. ``macros``
    are those that are surely defined, by options of the compiler or by a header, with their values. ``style`` is one
    of ``STYLES``. ``assembly`` are macros of other files that inline assembly is made of.

    The result has the same lines as ``text``, without a byte order mark. It includes no header that the source did not
    ask for: nvcc's implicit ``cuda_runtime.h`` is the caller's to add.
    """
    text = text.removeprefix("\ufeff")
    conditionals = Conditionals(text, own, macros or {})
    lines = Lines(text)
    plain, refused = inline_ptx.translate(
        text, lambda at: not conditionals.region(lines.number(at)).is_left_out, assembly
    )
    known = frozenset(own) | defined_macros(text), frozenset(headers), conditionals
    both = _has_warps(text) or any(each.compiled for each in short_of_components(plain))
    works = {each: _Translation(plain, file, *known, each) for each in ((style, *STYLES) if both else (style,))}
    for each in works.values():
        each.run()
    work = works[style]
    asm = [Finding(each.instruction, file, lines.number(each.at), lines.column(each.at), _ASM) for each in refused]
    return Hipified(
        work.result(),
        work.replaced,
        _in_order([*work.unmapped, *asm]),
        _in_order(work.hazards),
        tuple(Finding(b.directive, file, b.line, b.column, b.meaning) for b in conditionals.branches),
        tuple(_spelled_out(works[LITERAL], works[HELPFUL])) if len(works) > 1 else (),
    )


def _has_warps(text: str) -> bool:
    return "__activemask" in text or any(name in text for name in (*_SHUFFLES, *_VOTES))


def _spelled_out(literal: _Translation, helpful: _Translation) -> Iterator[Finding]:
    pairs = zip(literal.result().split("\n"), helpful.result().split("\n"), strict=True)
    for number, (one, other) in enumerate(pairs, 1):
        if one != other:
            column = len(one) - len(one.lstrip()) + 1
            yield Finding(one.strip(), literal.file, number, column, other.strip())


def _in_order(findings: Collection[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: (finding.line, finding.column)))


@dataclass
class _Translation:
    """One file on its way: what is to be replaced in it, and what was found."""

    text: str
    file: str
    own: Collection[str]
    headers: Collection[str]
    conditionals: Conditionals
    style: str
    replaced: Counter[str] = field(default_factory=Counter)
    unmapped: list[Finding] = field(default_factory=list)
    hazards: list[Finding] = field(default_factory=list)
    _edits: list[tuple[int, int, str]] = field(default_factory=list)

    def result(self) -> str:
        """The text with its replacements."""
        parts, done = [], 0
        for start, end, new in sorted(self._edits):
            if start >= done:  # not within another
                parts += [self.text[done:start], new]
                done = end
        return "".join([*parts, self.text[done:]])

    @functools.cached_property
    def _lines(self) -> Lines:
        return Lines(self.text)

    @functools.cached_property
    def _declared(self) -> frozenset[str]:
        return declared_names(self.text)

    def run(self) -> None:
        """Look at every token."""
        at, in_directive, in_condition = 0, 0, 0
        while match := _TOKEN.search(self.text, at):
            at = match.end()
            if match["directive"]:  # whose tokens come next
                in_directive = match.end()
                if "define" not in match["directive"]:
                    in_condition = in_directive
                at = match.start("rest")
                continue
            region = self.conditionals.region(self._lines.number(match.start()))
            if region is Region.CUDA_ONLY and not in_directive > match.start():
                continue
            if match["header"]:
                self._header(match, region)
            elif name := match["name"]:
                self._name(
                    name, match.start(), match.end(), region, match.start() < in_directive, match.start() < in_condition
                )
        self._launches()
        for short in short_of_components(self.text):
            if short.compiled and self.style == LITERAL:
                self._say("{...}", short.span.start, _FOR_ALL)
            else:
                self._write("{...}", short.span, short.instead, _FILLED)
        for match in _VECTOR_AS_STRUCT.finditer(self.text):
            self._write(match["word"].strip(), Span(*match.span("word")), "", _NO_STRUCT)
        for match in _RESTRICTED_NUMBER.finditer(self.text):
            self._write(match["restrict"], Span(*match.span("restrict")), "", _NO_POINTER)
        for match in _PRAGMA_MACRO.finditer(self.text):
            self._write("#pragma", Span(*match.span("pragma")), f'_Pragma("{match["said"]}")', _NO_DIRECTIVE)

    def _header(self, match: re.Match[str], region: Region) -> None:
        header = match["header"]
        if header in self.headers:
            return
        _, headers = table()
        rule = headers.get(header)
        if rule is None and _CUB_HEADER.fullmatch(header):
            rule = headers["cub/cub.cuh"]
        # A quoted header is one of the program's own unless it is a known one of CUDA's.
        if rule or (match["open"] == "<" and _CUDA_HEADER.fullmatch(header) and not _SUPPLIED_HEADER.fullmatch(header)):
            self._apply(rule, header, match.start("header"), region)

    def _name(self, name: str, start: int, end: int, region: Region, in_directive: bool, in_condition: bool) -> None:
        names, _ = table()
        if name in _COORDINATES and (rule := self._as_vector(name, start, end)):
            self._apply(rule, name, start, region)
            return
        if name in _NAMESPACES:
            opened = _NAMESPACE_BEFORE.search(self.text[max(0, start - 40) : start])
            # namespace cub = hipcub; is how a program that is ported already calls HIP's by CUDA's name.
            if (opened and _ALIAS.match(self.text, end)) or not (opened or _NAMESPACE_AFTER.match(self.text, end)):
                return
            if name == "nvcuda":
                self._without_wmma(start, end)
        if name == _LAUNCH_BOUNDS:
            self._in_parentheses(name, start, end)
        rule = names.get(name)
        if rule is None:
            # In a condition, a name that nobody defines is 0.
            if _LOOKS_LIKE_CUDA.fullmatch(name) and not in_condition and not self._is_own(name, start):
                self._apply(None, name, start, region)
            return
        if name == NVCC and name not in self.conditionals.renamed:
            return
        if rule.category == "macro" and in_directive and not rule.hip.startswith("__HIP"):
            return  # the condition is explained
        if rule.category == "device" and self._is_declared_at(start):
            return
        # A program that maps CUDA's names itself would define HIP's own macros as themselves, which ends them.
        if in_directive and (same := _DEFINED_AS.match(self.text, end)) and same[1] == rule.hip:
            return
        if call := re.compile(r"\s*\(").match(self.text, end):
            given = arguments(self.text, call.end())
            if self.style == HELPFUL and self._spelled_out(name, Span(start, end), given):
                return
            if name in _SHUFFLES and len(given) > 3:
                return  # a width says it all
            place = _KERNEL_ARGUMENT.get(name, len(given))
            if place < len(given) and region is not Region.CUDA_ONLY:
                self._as_address(given[place])
        self._apply(rule, name, start, region)

    def _as_vector(self, name: str, start: int, end: int) -> Rule | None:
        """The text for a whole coordinate that initializes a uint3, or goes to an operator of the program's."""
        before = self.text[max(0, start - 80) : start]
        factor = _OPERATOR_AFTER.match(self.text, end)
        whole = _WHOLE.match(self.text, end)
        if not (factor or (whole and (_OPERATOR_BEFORE.search(before) or _UINT3_BEFORE.search(before)))):
            return None
        declared = re.finditer(rf"\b([A-Za-z_]\w*)[\s&]+{name}\b", code(self.text))
        if any(each[1] not in _NO_TYPE for each in declared):
            return None
        return Rule("device", name, _AS_UINT3.format(name=name), _NO_UINT3)

    def _in_parentheses(self, name: str, start: int, end: int) -> None:
        """Keep the arguments of a macro whole."""
        call = re.compile(r"\s*\(").match(self.text, end)
        given = arguments(self.text, call.end()) if call else ()
        if any("," in each.of(self.text) and "<" in each.of(self.text) for each in given):
            for each in given:
                self._edits += [(each.start, each.start, "("), (each.end, each.end, ")")]
            self._say(name, start, _NO_TEMPLATE)

    def _launches(self) -> None:
        """``k << <blocks, threads >> >(x)``, as some formatters write it, is a launch."""
        said = False
        for match in _LAUNCH.finditer(code(self.text)) if "<<" in self.text else ():
            for brackets, whole in (("open", "<<<"), ("close", ">>>")):
                start, end = match.span(brackets)
                if end - start > len(whole):
                    region = self.conditionals.region(self._lines.number(start))
                    rule = Rule("launch", self.text[start:end], whole, "" if said else _APART.format(whole=whole))
                    self._apply(rule, rule.cuda, start, region)
                    said = True

    def _without_wmma(self, start: int, end: int) -> None:
        """HIP's namespace is that of ``nvcuda::wmma``: the name within goes, or means the same."""
        if inner := _WMMA.match(self.text, end):
            self._edits.append((end, inner.end(), ""))
        elif using := _USING_BEFORE.search(self.text[max(0, start - 40) : start]):
            self._edits.append((start - len(using[0]), start, "namespace wmma = "))

    def _is_own(self, name: str, start: int) -> bool:
        return (
            name in self.own
            or name in self._declared
            or bool(_MEMBER_BEFORE.search(self.text[max(0, start - 60) : start]))
        )

    def _is_declared_at(self, start: int) -> bool:
        """True if a type stands before a place: a program may have its own function of a name that CUDA has too."""
        begin = max(self.text.rfind("\n", 0, max(0, start - 60)) + 1, start - 300)
        # What ends the line of a directive (#endif) is no type.
        before = _TYPE_BEFORE.search(_DIRECTIVE_BEFORE.sub("", self.text[begin:start]))
        return before is not None and before[1] not in _NO_TYPE

    def _apply(self, rule: Rule | None, name: str, at: int, region: Region) -> None:
        if not region.is_left_out and name not in self.own:
            finding = Finding(
                name, self.file, self._lines.number(at), self._lines.column(at), rule.note if rule else _UNKNOWN
            )
            if finding.advice:
                (self.hazards if rule and rule.hip else self.unmapped).append(finding)
        if rule and rule.hip and rule.hip != name:
            self._replace(name, Span(at, at + len(name)), rule.hip)

    def _write(self, name: str, span: Span, new: str, note: str) -> None:
        """Write what no name of the table stands for."""
        self._edits.append((span.start, span.end, new))
        self._say(name, span.start, note)

    def _say(self, name: str, at: int, note: str) -> None:
        line, column = self._lines.number(at), self._lines.column(at)
        if not self.conditionals.region(line).is_left_out:
            self.hazards.append(Finding(name, self.file, line, column, note))

    def _replace(self, name: str, span: Span, new: str) -> None:
        self.replaced[name] += 1
        ends = _LINE_END.findall(self.text, span.start, span.end)
        self._edits.append((span.start, span.end, "".join((new, *ends))))

    def _as_address(self, argument: Span) -> None:
        given = argument.of(self.text)
        if given and "const void" not in given:
            start = self.text.index(given[0], argument.start)
            self._edits.append((start, start, "reinterpret_cast<const void*>("))
            end = argument.start + len(self.text[argument.start : argument.end].rstrip())
            self._edits.append((end, end, ")"))

    def _spelled_out(self, name: str, span: Span, given: tuple[Span, ...]) -> bool:
        """Write out that 32 lanes take part, if this is a call where that can be done."""
        if name == "__activemask" and len(given) == 1:
            self._replace(name, Span(span.start, given[0].end + 1), _ACTIVE)
            return True
        everyone = bool(given) and self._is_everyone(given[0].of(self.text))
        if name in _VOTES and len(given) == 2 and everyone:
            before, after = _VOTES[name]
            self._replace(name, Span(span.start, self._first_of(given[1])), before)
            self._edits.append((given[1].end, given[1].end, after.removesuffix(")")))
            return True
        if name not in _SHUFFLES or len(given) not in (3, 4):
            return False
        if everyone:
            self._replace(name, span, name.removesuffix("_sync"))
            mask = self.text[given[0].start : given[0].end]
            blanks = len(mask) - len(mask.lstrip())
            after_it = re.compile(r"[ \t]*").match(self.text, given[1].start)
            self._edits.append((given[0].start + blanks, after_it.end() if after_it else given[1].start, ""))
        if len(given) == 3:
            self._edits.append((given[2].end, given[2].end, ", 32"))
            if not everyone:
                self.replaced[name] += 1
        return True

    def _is_everyone(self, mask: str) -> bool:
        value = self.conditionals.value(mask)
        while value and value.startswith("(") and value.endswith(")"):
            value = value[1:-1].strip()
        return bool(_ALL_LANES.fullmatch(value or mask))

    def _first_of(self, span: Span) -> int:
        given = self.text[span.start : span.end]
        return span.start + len(given) - len(given.lstrip())


def declared_names(text: str) -> frozenset[str]:
    """Names that look like CUDA's, and are declared by the source itself, as far as that can be seen."""
    found = _DECLARED.finditer(_DIRECTIVE.sub("", code(text)))
    return frozenset(
        match["name"]
        for match in found
        if match["before"] not in _NO_TYPE and _LOOKS_LIKE_CUDA.fullmatch(match["name"])
    )


def defined_macros(text: str) -> set[str]:
    """Names of the macros that a source defines."""
    return set(_DEFINE.findall(text))
