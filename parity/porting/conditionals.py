"""Decides which branches of a source's conditionals AMD's compiler takes.

Conditions are evaluated as the preprocessor does, with a third value: a condition on a macro that an unread header may
define is undecided.
"""

from __future__ import annotations

import bisect
import enum
import itertools
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from parity.compilers.lexing import COMMENT_OR_LITERAL, Lines
from parity.model.finding import Finding
from parity.porting.preprocessor import ConditionValue, evaluate

HIP = {"__HIPCC__": "1", "__HIP__": "1", "__HIP_PLATFORM_AMD__": "1"}
"""Macros that distinguish HIP from CUDA; no program changes them."""

DEFINED = {**HIP, "__clang__": "1", "__cplusplus": "201703L"}
"""All macros that AMD's compiler is known to define."""

PREDEFINED = re.compile(
    r"__CUDA\w+ | CUDA_VERSION | CUDART_VERSION | CUDA_API_PER_THREAD_DEFAULT_STREAM | __NVCC__ | __NVCOMPILER\w*",
    re.VERBOSE,
)
"""Matches macros that CUDA's compiler or headers define, and HIP's do not."""

RENAMED = {"__CUDACC__": "__HIPCC__", "__CUDABE__": "__HIP_DEVICE_COMPILE__"}
"""CUDA's macros that have a counterpart in HIP."""

ARCH = "__CUDA_ARCH__"
"""The version of the GPU's architecture, in device code."""

NVCC = "__NVCC__"
"""Has a counterpart only in files that do not distinguish HIP from CUDA, where it means any GPU compiler."""

_EITHER = re.compile(r"^[ \t]*#[ \t]*(?:el)?if\b(?=[^\n]*\b__CUDACC__)[^\n!&]*$", re.MULTILINE)
"""Matches a condition that holds for both CUDA and HIP."""

_NEVER_DEFINED = frozenset(
    {"_MSC_VER", "_WIN32", "_WIN64", "__APPLE__", "__HIP_PLATFORM_NVIDIA__", "__HIP_PLATFORM_NVCC__"}
)

_DIRECTIVE = re.compile(
    rf"""{COMMENT_OR_LITERAL}
    | ^[ \t]*\#[ \t]*(?P<word>ifdef|ifndef|if|elifdef|elifndef|elif|else|endif|define|undef)\b
      (?P<rest>(?:\\\r?\n | /\*.*?\*/ | //(?:\\\r?\n|[^\n])* | [^\n])*)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_COMMENT = re.compile(r"//.*|/\*.*?\*/", re.DOTALL)
_DEFINITION = re.compile(r"\s*([A-Za-z_$][\w$]*)(\()?(.*)", re.DOTALL)
_SHOWN = 60
"""Length limit of a directive in a message."""


class Region(enum.Enum):
    """Whether AMD's compiler compiles a line. ``CUDA_ONLY`` lines are left out because a test for HIP excludes them."""

    COMPILED = enum.auto()
    UNKNOWN = enum.auto()
    LEFT_OUT = enum.auto()
    CUDA_ONLY = enum.auto()

    @property
    def is_left_out(self) -> bool:
        """True if AMD's compiler does not compile the line."""
        return self in (Region.LEFT_OUT, Region.CUDA_ONLY)


@dataclass
class _Chain:
    """The branches that follow an ``#if``.

    Attributes:
        around: The region that contains them.
        taken: A previous branch is taken.
        for_hip: A previous branch is taken because it tests for HIP.
        undecided: A previous branch may be taken.
        explained: The index of the current branch in ``Conditionals.branches``, if it is there.
        begin: The first line of the current branch.
        outcome: Whether the current branch is taken, if its directive decides that.
    """

    around: Region
    taken: bool = False
    for_hip: bool = False
    undecided: bool = False
    explained: int | None = None
    begin: int = 0
    outcome: bool | None = None


@dataclass
class Conditionals:
    """The conditionals of a source.

    Attributes:
        text: The source.
        own: Macros that the program defines somewhere, so that their values are unknown.
        macros: Values of macros that are certainly defined, by ``-D`` or by a header of the program.
        branches: The directives that depend on a macro of CUDA, with their meaning for AMD. The file is empty.
        constants: Macros without parameters that the source defines in compiled lines.
        renamed: CUDA's macros, with the macros of HIP that replace them.
    """

    text: str
    own: Collection[str] = ()
    macros: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.branches: list[Finding] = []
        distinguishing = _EITHER.sub("", self.text)
        self.renamed = RENAMED if any(name in distinguishing for name in HIP) else {**RENAMED, NVCC: "__HIPCC__"}
        self.constants: dict[str, str] = {}
        self._unknown: set[str] = set()
        self._lines = Lines(self.text)
        self._regions: list[tuple[int, Region]] = [(1, Region.COMPILED)]
        self._chains: list[_Chain] = []
        directives = [match for match in _DIRECTIVE.finditer(self.text) if match["word"]]
        for match, after in itertools.zip_longest(directives, directives[1:]):
            self._process(match, after)

    def region(self, line: int) -> Region:
        """Return the region of a line."""
        at = bisect.bisect_right(self._regions, line, key=lambda region: region[0])
        return self._regions[max(at - 1, 0)][1]

    def value(self, name: str) -> str | None:
        """Return the text of a macro, if it is known."""
        if name in self._unknown:
            return None
        return self.constants.get(name, self.macros.get(name))

    @property
    def _now(self) -> Region:
        return self._regions[-1][1]

    def _process(self, match: re.Match[str], after: re.Match[str] | None) -> None:
        word, rest = match["word"], _COMMENT.sub(" ", re.sub(r"\\\r?\n", " ", match["rest"])).strip()
        at = match.start() + len(match[0]) - len(match[0].lstrip())
        first, last = self._lines.number(at), self._lines.number(match.end())
        if word in ("define", "undef"):
            if not self._now.is_left_out:
                self._define(word, rest)
        elif word.startswith("if"):
            chain = _Chain(self._now)
            self._chains.append(chain)
            guard = after is not None and word == "ifndef" and self._is_guard(rest, after)
            self._branch(chain, word, rest, at, last, guard)
        elif self._chains:
            chain = self._chains[-1]
            self._explain(chain, first)
            if word == "endif":
                self._chains.pop()
                self._regions.append((last + 1, chain.around))
            else:
                self._branch(chain, word, rest, at, last, False)

    def _define(self, word: str, rest: str) -> None:
        definition = _DEFINITION.fullmatch(rest)
        if definition is None:
            return
        name, called, value = definition.groups()
        self.constants.pop(name, None)
        if word == "undef" or called or self._now is Region.UNKNOWN:
            self._unknown.add(name)
        else:
            self._unknown.discard(name)
            self.constants[name] = value.strip()

    def _is_guard(self, name: str, after: re.Match[str]) -> bool:
        definition = _DEFINITION.match(after["rest"]) if after["word"] == "define" else None
        return definition is not None and definition[1] == name and self._find(name) is None

    def _branch(self, chain: _Chain, word: str, rest: str, at: int, last: int, guard: bool) -> None:
        """Begin the branch after a directive that ends in line ``last``."""
        chain.begin, chain.explained, chain.outcome = last + 1, None, None
        found = self._condition(word, rest)
        truth = True if guard else None if found.value is None else bool(found.value)
        for_hip = bool(found.used) and found.used <= set(HIP)
        if chain.around.is_left_out:
            region = chain.around
        elif chain.taken:
            region = Region.CUDA_ONLY if chain.for_hip else Region.LEFT_OUT
        elif truth is False:
            region = Region.CUDA_ONLY if for_hip else Region.LEFT_OUT
        else:
            region = chain.around if truth and not chain.undecided else Region.UNKNOWN
        if not chain.around.is_left_out and not chain.taken and word != "else":
            self._note(chain, word, rest, at, found)
            chain.outcome = truth
        if word == "else" and region is chain.around:
            chain.outcome = True
        chain.for_hip = chain.for_hip or bool(truth and for_hip)
        chain.taken = chain.taken or truth is True
        chain.undecided = chain.undecided or truth is None
        self._regions.append((last + 1, region))

    def _note(self, chain: _Chain, word: str, rest: str, at: int, found: ConditionValue) -> None:
        names = sorted(name for name in found.used | found.unknown if PREDEFINED.fullmatch(name))
        if not names or "__CUDA_NO_" in names[0]:
            return
        meaning = "; ".join(self._meaning(name) for name in names)
        if found.value is None:
            others = sorted(found.unknown - set(names)) or names
            meaning += f"; which branch is taken depends on {' and '.join(others)}"
        directive = " ".join(f"#{word} {rest}".split())
        short = directive if len(directive) <= _SHOWN else directive[: _SHOWN - 3] + "..."
        chain.explained = len(self.branches)
        self.branches.append(Finding(short, "", *self._lines.place(at), meaning))

    def _meaning(self, name: str) -> str:
        if name in self.renamed:
            return f"{name} is {self.renamed[name]} in HIP"
        if (value := self.value(name)) is not None:
            return f"{name} is {value or 'defined'}"
        return f"{name} is not known" if self._find(name) is None else f"{name} is not defined for AMD"

    def _explain(self, chain: _Chain, next_line: int) -> None:
        """Record for the branch that ends before ``next_line`` whether its lines are compiled."""
        if chain.outcome is None:
            return
        lines = (chain.begin, next_line - 1)
        fate = "compiled" if chain.outcome else "left out"
        which = f"lines {lines[0]} to {lines[1]} are" if lines[0] < lines[1] else f"line {lines[0]} is"
        place = chain.explained
        if place is not None and lines[0] <= lines[1]:
            branch = self.branches[place]
            self.branches[place] = replace(branch, advice=f"{branch.advice}, so {which} {fate}")

    def _condition(self, word: str, rest: str) -> ConditionValue:
        if word == "else":
            return ConditionValue(1)
        if word.endswith("def"):
            name = rest.split()[0] if rest.split() else ""
            known = self._defined(name)
            if known.value is None or not word.endswith("ndef"):
                return known
            return ConditionValue(int(not known.value), known.unknown, known.used)
        return evaluate(rest, self._find, self._defined)

    def _find(self, name: str) -> str | None:
        """Return the expansion of a name: empty if it is not defined, None if it is unknown."""
        if name in self._unknown:
            return None
        if (value := self.value(name)) is not None:
            return value
        renamed = self.renamed.get(name, name)
        if renamed in DEFINED:
            return DEFINED[renamed]
        if name in self.own or renamed != name:
            return None
        return "" if PREDEFINED.fullmatch(name) or name in _NEVER_DEFINED else None

    def _defined(self, name: str) -> ConditionValue:
        renamed = self.renamed.get(name, name)
        names = frozenset({name})
        if self.value(name) is not None or (name not in self._unknown and renamed in DEFINED):
            return ConditionValue(1, used=frozenset({renamed}) if renamed in HIP and renamed == name else names)
        if self._find(name) is None:
            return ConditionValue(None, unknown=names)
        return ConditionValue(0, used=names)


def macros_of(flags: Iterable[str]) -> dict[str, str]:
    """Return the macros that compiler options define: ``-DN=2``, ``-D N=2``, ``-DN``, without later ``-U``."""
    found: dict[str, str] = {}
    given = list(flags)
    for flag, after in itertools.zip_longest(given, given[1:], fillvalue=""):
        option, text = flag[:2], flag[2:] or after
        name, equals, value = text.partition("=")
        if option == "-D":
            found[name] = value if equals else "1"
        elif option == "-U":
            found.pop(name, None)
    return found
