"""Translates CUDA to HIP, token by token.

The rules are tables. ``cuda_to_hip.csv`` maps identifiers and headers (``cuda_names.py``), ``ptx_to_cpp.csv`` inline
PTX (``inline_ptx.py``), ``nvcc_syntax.csv`` syntax that only nvcc accepts. Comments, strings and line numbers do not
change, and code that cannot be translated is reported.

There are two styles. ``literal`` does what AMD's hipify does, so that parity tests the port that people make:
``__shfl_xor_sync(0xffffffff, v, m)`` stays, and exchanges values among 64 lanes where a wavefront has 64. ``helpful``
writes out CUDA's meaning for warps of 32 lanes: ``__shfl_xor(v, m, 32)`` (``warp_calls.py``).

Code opposite ``#ifdef __HIPCC__`` (its ``#else``, the body of ``#ifndef``) is for CUDA only: it stays, and nothing in
it is reported. In other lines that AMD's compiler skips, names are replaced, and nothing is reported. A condition on a
macro of CUDA is explained: which of its branches is compiled for AMD.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from parity.compilers.lexing import COMMENT_OR_LITERAL, Lines, Span, arguments, code, replaced
from parity.model.finding import Finding
from parity.porting import cuda_names, inline_ptx
from parity.porting.conditionals import NVCC, Conditionals, Region
from parity.porting.nvcc_syntax import replacements
from parity.porting.vector_types import short_of_components
from parity.porting.warp_calls import SHUFFLES, WARP_FUNCTIONS, for_32_lanes

LITERAL, HELPFUL = STYLES = ("literal", "helpful")


@dataclass(frozen=True)
class Hipified:
    """The translation of one file.

    Attributes:
        text: The HIP text.
        replaced: How often each CUDA name was replaced.
        unmapped: Names without a HIP counterpart, and names that look like CUDA's and are not in the table.
        hazards: Code that was translated or kept, and means something different on AMD GPUs.
        branches: Which lines are compiled for AMD, where that depends on a macro of CUDA.
        spelled_out: The lines that the two styles translate differently, as ``helpful`` writes them.
    """

    text: str
    replaced: Mapping[str, int]
    unmapped: tuple[Finding, ...] = ()
    hazards: tuple[Finding, ...] = ()
    branches: tuple[Finding, ...] = ()
    spelled_out: tuple[Finding, ...] = ()


# A pp-number is one token, so that the quote in 1'000'000 does not open a character literal.
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
_LINE_END = re.compile(r"\\?\r?\n")

_UNKNOWN = "looks like a CUDA name, but HIP's counterpart is not known; port it by hand"
_ASM = "inline PTX that is not translated; write it in C++ or with an __builtin_amdgcn_ function"
_IN_PARENTHESES = "HIP's is a macro, and a comma between template arguments would end its argument; put in parentheses"
_AS_UINT3 = "HIP's has a different type, which does not convert to uint3; written out"

_NAMESPACES = frozenset({"cub", "nvcuda"})
"""Namespaces are short words that a program may use for something else."""
_NAMESPACE_BEFORE, _NAMESPACE_AFTER = re.compile(r"\bnamespace\s+$"), re.compile(r"\s*::")
_ALIAS_BEFORE = re.compile(r"\bnamespace\s+\w+(\s*=\s*)$")
"""Matches what precedes the namespace of an alias; the group is the equals sign."""
_USING_BEFORE, _WMMA, _ALIAS = (
    re.compile(r"\busing\s+namespace\s+$"), re.compile(r"\s*::\s*wmma\b"), re.compile(r"\s*=")
)  # fmt: skip

# Only CUDA's coordinates are a uint3 or convert to one, for which a program may have operators. HIP has such operators,
# but none for its dim3.
_COORDINATES = frozenset(("threadIdx", "blockIdx", "blockDim", "gridDim"))
_UINT3_BEFORE = re.compile(r"\buint3\s+(?:const\s*)?&?\s*\w+\s*[=({]\s*$|\bmake_\w+\(\s*$")
_WHOLE = re.compile(r"\s*[;,)}]")
_OPERATOR_BEFORE, _OPERATOR_AFTER = re.compile(r"(?<!/)(?<!\*)[-+*/%]\s*$"), re.compile(r"\s*[-+*/%](?![-+=/*])")

_TYPE_BEFORE = re.compile(r"\b([A-Za-z_]\w*)\s+$")
_MEMBER_BEFORE = re.compile(r"(?:\.|->|\w\s*::)\s*$")
_DEFINED_AS = re.compile(r"[ \t]+(\w+)[ \t]*\r?$", re.MULTILINE)
_DIRECTIVE_BEFORE = re.compile(rf"{cuda_names.DIRECTIVE.pattern}\n", re.MULTILINE)
_CALL = re.compile(r"\s*\(")
_LAUNCH_BOUNDS = "__launch_bounds__"

_KERNEL_ARGUMENT = {
    "cudaFuncSetAttribute": 0, "cudaFuncSetCacheConfig": 0, "cudaFuncSetSharedMemConfig": 0, "cudaFuncGetAttributes": 1,
    "cudaLaunchKernel": 0, "cudaLaunchCooperativeKernel": 0,
}  # fmt: skip
"""The place of the kernel among the arguments: HIP's functions take an address, CUDA's are templates."""


def hipify(
    text: str,
    file: str,
    *,
    own: Collection[str] = (),
    headers: Collection[str] = (),
    macros: Iterable[tuple[str, str]] = (),
    style: str = LITERAL,
    assembly: str = "",
) -> Hipified:
    """Translate the CUDA source ``text``, which findings call ``file``, to HIP.

    Args:
        text: The source. The result has the same lines, without a byte order mark, and includes no additional header:
            the caller adds nvcc's implicit ``cuda_runtime.h``.
        file: The name of the source in findings.
        own: Names that the program defines in other files; they are never reported.
        headers: Names in ``#include`` lines that are files of the program, even if CUDA has headers of that name.
        macros: Macros that compiler options or a header certainly define, with their values.
        style: One of ``STYLES``.
        assembly: Definitions of macros in other files that are parts of inline assembly.
    """
    text = text.removeprefix("\ufeff")
    conditionals = Conditionals(text, own, dict(macros))
    lines = Lines(text)
    plain, refused = inline_ptx.translate(
        text, lambda at: not conditionals.region(lines.number(at)).is_left_out, assembly
    )
    known = frozenset(own) | cuda_names.defined_macros(text), frozenset(headers), conditionals
    both = any(name in text for name in WARP_FUNCTIONS) or any(each.compiled for each in short_of_components(plain))
    works = {each: _FileTranslation(plain, file, *known, each) for each in ((style, *STYLES) if both else (style,))}
    for each in works.values():
        each.run()
    work = works[style]
    asm = [Finding(each.instruction, file, *lines.place(each.at), _ASM) for each in refused]
    return Hipified(
        work.result(),
        work.replaced,
        _in_order([*work.unmapped, *asm]),
        _in_order(work.hazards),
        tuple(replace(each, file=file) for each in conditionals.branches),
        tuple(_spelled_out(works[LITERAL], works[HELPFUL])) if len(works) > 1 else (),
    )


def _spelled_out(literal: _FileTranslation, helpful: _FileTranslation) -> Iterator[Finding]:
    pairs = zip(literal.result().split("\n"), helpful.result().split("\n"), strict=True)
    for number, (one, other) in enumerate(pairs, 1):
        if one != other:
            column = len(one) - len(one.lstrip()) + 1
            yield Finding(one.strip(), literal.file, number, column, other.strip())


def _in_order(findings: Collection[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: (finding.line, finding.column)))


@dataclass(frozen=True)
class _Name:
    """An identifier in the text, and where it is."""

    text: str
    start: int
    end: int
    region: Region
    in_directive: bool
    in_condition: bool


@dataclass
class _FileTranslation:
    """Collects the edits and the findings of one file."""

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
        """Return the text with all edits."""
        return replaced(self.text, self._edits)

    @functools.cached_property
    def _lines(self) -> Lines:
        return Lines(self.text)

    @functools.cached_property
    def _declared(self) -> frozenset[str]:
        return cuda_names.declared_names(self.text)

    def run(self) -> None:
        """Translate every token, and then the syntax that only nvcc accepts."""
        at, in_directive, in_condition = 0, 0, 0
        while match := _TOKEN.search(self.text, at):
            at = match.end()
            if match["directive"]:  # its tokens follow
                in_directive = match.end()
                if "define" not in match["directive"]:
                    in_condition = in_directive
                at = match.start("rest")
                continue
            start = match.start()
            region = self.conditionals.region(self._lines.number(start))
            if region is Region.CUDA_ONLY and not in_directive > start:
                continue
            if match["header"]:
                self._header(match, region)
            elif match["name"]:
                self._name(_Name(match["name"], start, at, region, start < in_directive, start < in_condition))
        for each in replacements(self.text, literal=self.style == LITERAL):
            if each.counted:
                region = self.conditionals.region(self._lines.number(each.span.start))
                self._apply(
                    cuda_names.Rule("syntax", each.name, each.new or "", each.note), each.name, each.span.start, region
                )
            else:
                self._warn(each.name, each.span.start, each.note)
                self._edits += [] if each.new is None else [(each.span.start, each.span.end, each.new)]

    def _header(self, match: re.Match[str], region: Region) -> None:
        header = match["header"]
        if header in self.headers:
            return
        rule = cuda_names.header_rule(header)
        # A quoted header belongs to the program unless the table has it.
        if rule or (match["open"] == "<" and cuda_names.CUDA_HEADER.fullmatch(header)):
            self._apply(rule, header, match.start("header"), region)

    def _name(self, name: _Name) -> None:
        if name.text in _COORDINATES and (rule := self._as_vector(name)):
            self._apply(rule, name.text, name.start, name.region)
            return
        if name.text in _NAMESPACES and not self._is_namespace(name):
            return
        if name.text == _LAUNCH_BOUNDS:
            self._in_parentheses(name)
        rule = cuda_names.name_rules().get(name.text)
        if rule is None:
            # In a condition, an undefined name is 0.
            if cuda_names.looks_like_cuda(name.text) and not name.in_condition and not self._is_own(name):
                self._apply(None, name.text, name.start, name.region)
        elif not self._stays(rule, name) and not self._is_call_without_renaming(name):
            self._apply(rule, name.text, name.start, name.region)

    def _text_before(self, name: _Name) -> str:
        """Return the text before a name that the patterns for its context search."""
        return self.text[max(0, name.start - 60) : name.start]

    def _is_namespace(self, name: _Name) -> bool:
        """Return whether a word such as ``cub`` names CUDA's namespace; ``nvcuda::wmma`` is replaced as a whole."""
        before = self._text_before(name)
        opened = _NAMESPACE_BEFORE.search(before)
        # A program that is ported already may have "namespace cub = hipcub;".
        if (opened and _ALIAS.match(self.text, name.end)) or not (
            opened or _NAMESPACE_AFTER.match(self.text, name.end) or _ALIAS_BEFORE.search(before)
        ):
            return False
        if name.text == "nvcuda":
            self._without_wmma(name)
        return True

    def _stays(self, rule: cuda_names.Rule, name: _Name) -> bool:
        """Return whether a name that has a rule is kept."""
        if name.text == NVCC and name.text not in self.conditionals.renamed:
            return True
        if rule.category == "macro" and name.in_directive and not rule.hip.startswith("__HIP"):
            return True  # the condition is explained
        if rule.category == "device" and self._is_declared_at(name.start):
            return True
        # If a program maps CUDA's names itself, translation would turn the mapping into a macro defined as itself.
        same = _DEFINED_AS.match(self.text, name.end) if name.in_directive else None
        return bool(same and same[1] == rule.hip)

    def _is_call_without_renaming(self, name: _Name) -> bool:
        """Translate the arguments of a call; return whether the name itself needs no translation."""
        call = _CALL.match(self.text, name.end)
        if call is None:
            return False
        given = arguments(self.text, call.end())
        if self.style == HELPFUL and (
            spelled := for_32_lanes(self.text, name.text, Span(name.start, name.end), given, self.conditionals.value)
        ):
            if spelled.renamed:
                self._replace(name.text, *spelled.renamed)
            self._edits += spelled.edits
            return True
        if name.text in SHUFFLES and len(given) > 3:
            return True  # the width is explicit
        place = _KERNEL_ARGUMENT.get(name.text, len(given))
        if place < len(given) and name.region is not Region.CUDA_ONLY:
            self._as_address(given[place])
        return False

    def _as_vector(self, name: _Name) -> cuda_names.Rule | None:
        """Return the rule for a whole coordinate that initializes a uint3, or is an operand of the program's own."""
        before = self.text[max(0, name.start - 80) : name.start]
        factor = _OPERATOR_AFTER.match(self.text, name.end)
        whole = _WHOLE.match(self.text, name.end)
        if not (factor or (whole and (_OPERATOR_BEFORE.search(before) or _UINT3_BEFORE.search(before)))):
            return None
        declared = re.finditer(rf"\b([A-Za-z_]\w*)[\s&]+{name.text}\b", code(self.text))
        if any(each[1] not in cuda_names.NO_TYPE for each in declared):
            return None
        return cuda_names.Rule(
            "device", name.text, f"make_uint3({name.text}.x, {name.text}.y, {name.text}.z)", _AS_UINT3
        )

    def _in_parentheses(self, name: _Name) -> None:
        """Put the arguments of a macro in parentheses if they contain commas."""
        call = _CALL.match(self.text, name.end)
        given = arguments(self.text, call.end()) if call else ()
        if any("," in each.of(self.text) and "<" in each.of(self.text) for each in given):
            for each in given:
                self._edits += [(each.start, each.start, "("), (each.end, each.end, ")")]
            self._warn(name.text, name.start, _IN_PARENTHESES)

    def _without_wmma(self, name: _Name) -> None:
        """Replace ``nvcuda::wmma`` as a whole: HIP has one namespace."""
        before = self._text_before(name)
        if inner := _WMMA.match(self.text, name.end):
            self._edits.append((name.end, inner.end(), ""))
        elif using := _USING_BEFORE.search(before):
            self._edits.append((name.start - len(using[0]), name.start, "namespace wmma = "))
        elif alias := _ALIAS_BEFORE.search(before):
            self._edits.append((name.start - len(alias[1]), name.start, " { namespace wmma = "))
            self._edits.append((name.end, name.end, "; }"))

    def _is_own(self, name: _Name) -> bool:
        before = self._text_before(name)
        return name.text in self.own or name.text in self._declared or bool(_MEMBER_BEFORE.search(before))

    def _is_declared_at(self, start: int) -> bool:
        """Return whether a type precedes a place: a program may define a function with a CUDA name."""
        begin = max(self.text.rfind("\n", 0, max(0, start - 60)) + 1, start - 300)
        # The end of a directive, such as #endif, is not a type.
        before = _TYPE_BEFORE.search(_DIRECTIVE_BEFORE.sub("", self.text[begin:start]))
        return before is not None and before[1] not in cuda_names.NO_TYPE

    def _apply(self, rule: cuda_names.Rule | None, name: str, at: int, region: Region) -> None:
        if not region.is_left_out and name not in self.own:
            finding = Finding(name, self.file, *self._lines.place(at), rule.note if rule else _UNKNOWN)
            if finding.advice:
                (self.hazards if rule and rule.hip else self.unmapped).append(finding)
        if rule and rule.hip and rule.hip != name:
            self._replace(name, Span(at, at + len(name)), rule.hip)

    def _warn(self, name: str, at: int, note: str) -> None:
        finding = Finding(name, self.file, *self._lines.place(at), note)
        if not self.conditionals.region(finding.line).is_left_out:
            self.hazards.append(finding)

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
