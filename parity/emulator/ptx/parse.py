"""Parses PTX into functions, their instructions, and the variables of the module.

Source of the syntax: PTX ISA, chapters "Syntax" and "State Spaces, Types, and Variables".
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from parity.compilers.include import CUDA_ALIAS
from parity.emulator.instruction import Instruction
from parity.errors import UsageError

NAME = r"[A-Za-z_$%][\w$]*"
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_BRACE = re.compile(r"//[^\n]*|/\*.*?\*/|[{}]", re.DOTALL)
_HEAD = re.compile(
    rf"^[ \t]*(?:\.(?:visible|weak|extern|common)\s+)*\.(?P<kind>entry|func)\b\s*"
    rf"(?:\.noreturn\s*)?(?P<results>\([^)]*\))?\s*(?P<name>{NAME})\s*(?P<parameters>\([^)]*\))?",
    re.MULTILINE,
)
_VARIABLE = re.compile(
    r"\.(?P<space>global|const|shared|local|param)\s*"
    r"(?:\.attribute\([^)]*\)\s*)?(?:\.align\s+(?P<align>\d+)\s*)?(?:\.v(?P<vector>[248])\s*)?\.(?P<type>\w+)\s+"
    r"(?:\.ptr(?:\s*\.\w+)*(?:\s+\d+)?\s+)?"
    rf"(?P<name>{NAME})(?P<dims>(?:\s*\[\d*\])*)(?:\s*=\s*(?P<value>.*))?\s*",
    re.DOTALL,
)
_REGISTER = re.compile(r"\.reg\s*\.(?:v[24]\s*\.)?(?P<type>\w+)\s+(?P<names>.*)", re.DOTALL)
_RANGE = re.compile(rf"({NAME})<(\d+)>")
_PART = re.compile(
    rf"""(?P<space>(?:\s|//[^\n]*|/\*.*?\*/)+) | (?P<open>\{{) | (?P<close>\}})
    | (?P<loc>\.loc\s+(?P<file>\d+)\s+(?P<line>\d+)\s+\d+
        (?:[^\n]*?inlined_at\s+(?P<outer_file>\d+)\s+(?P<outer_line>\d+))?[^\n]*)
    | (?P<table>(?P<name>{NAME}):\s*\.(?:branchtargets|calltargets|callprototype)\s+(?P<rest>[^;]*);)
    | (?P<label>{NAME}):(?!:) | (?P<statement>[^;]+);?""",
    re.DOTALL | re.VERBOSE,
)
"""Matches a part of a function body."""
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', re.MULTILINE)
_MODULE = re.compile(r"^[ \t]*(?:\.(?:visible|weak|extern|common)\s+)*\.(?:global|const|shared)\b[^;]*;", re.MULTILINE)
_LINKAGE = re.compile(r"^(?:\.(?:visible|weak|extern|common)\s+)*")
_SIZES = {"pred": 1, "8": 1, "16": 2, "32": 4, "64": 8, "128": 16}


_OPERAND_WORD = re.compile(r"[%$\w]+")
_NO_RESULT = (
    "st",
    "sust",
    "red",
    "bra",
    "brx",
    "bar",
    "barrier",
    "call",
    "ret",
    "exit",
    "trap",
    "membar",
    "fence",
    "cp",
)
"""The instructions whose first operand is not a result."""


def falls_through(item: Instruction) -> bool:
    """True if the instruction after this one may be the next."""
    return item.base not in BRANCHES or (item.base != "brx" and bool(item.modifiers))


Accesses = tuple[list[str], list[str]]
"""The registers that an item writes, and the registers that it reads."""

BRANCHES = ("bra", "brx", "ret", "exit")
"""The instructions that end a basic block, apart from calls."""


@dataclass(frozen=True)
class PtxVariable:
    """A variable or parameter of ``size`` bytes. ``value`` is the text of its initializer.

    ``space`` is global, const, shared, local or param. An ``extern`` array has size 0.
    """

    name: str
    space: str
    type: str
    align: int
    size: int
    value: str = ""


@dataclass(frozen=True)
class FunctionText:
    """The text of a function with its head, which starts at ``line`` of the listing."""

    name: str
    entry: bool
    text: str
    line: int
    results: str = ""
    parameters: str = ""


@dataclass(frozen=True)
class PtxFunction:
    """A parsed function.

    ``items`` are instructions and, as ``str``, labels. ``registers`` maps virtual registers to their types; the name of
    a register in an inner scope gets a number. ``variables`` are declared in the function, ``tables`` are lists of
    labels for indexed branches.
    """

    name: str
    entry: bool
    results: tuple[PtxVariable, ...]
    parameters: tuple[PtxVariable, ...]
    items: tuple[Instruction | str, ...]
    registers: dict[str, str] = field(repr=False)
    variables: tuple[PtxVariable, ...]
    tables: dict[str, tuple[str, ...]]

    @functools.cached_property
    def labels(self) -> frozenset[str]:
        """The labels of the code."""
        return frozenset(item for item in self.items if isinstance(item, str))

    @functools.cached_property
    def accessed(self) -> tuple[Accesses, ...]:
        """The registers that each item accesses."""
        return tuple(map(self.accesses, self.items))

    @functools.cached_property
    def writes(self) -> Counter[str]:
        """How many items write each register."""
        return Counter(name for written, _ in self.accessed for name in written)

    @functools.cached_property
    def uses(self) -> Counter[str]:
        """How often items read each register."""
        return Counter(name for _, read in self.accessed for name in read)

    def targets(self, item: Instruction) -> tuple[str, ...]:
        """Return the labels that a branch may go to."""
        if item.base == "brx":
            return self.tables.get(item.operands[1], ())
        return item.operands[:1] if item.base == "bra" else ()

    def accesses(self, item: Instruction | str) -> Accesses:
        """Return the registers that an item writes unconditionally, and the registers that it reads or may keep."""
        if isinstance(item, str):
            return [], []
        words = [[name for name in _OPERAND_WORD.findall(each) if name in self.registers] for each in item.operands]
        writes = [] if item.base in _NO_RESULT or not words else words[0]
        reads = [name for operand in words[0 if item.base in _NO_RESULT else 1 :] for name in operand]
        if item.base in ("bar", "barrier") and "red" in item.mnemonic:
            writes = words[0]
        if item.modifiers:
            guard = _OPERAND_WORD.findall(item.modifiers[0][1:])
            reads += [*(name for name in guard if name in self.registers), *writes]
        return writes, reads


@functools.cache
def size_of(type_: str) -> int:
    """Return the size in bytes of a type such as ``u32``, ``f16x2`` or ``pred``."""
    if type_ == "pred":
        return 1
    digits = re.sub(r"\D", " ", type_.replace("x2", "")).split()
    size = _SIZES[digits[-1]]
    return 2 * size if type_.endswith("x2") else size


@functools.lru_cache(maxsize=8)
def function_texts(ptx: str) -> dict[str, FunctionText]:
    """Return the texts of all functions with a body, by name.

    Raises:
        UsageError: The PTX is truncated inside a function.
    """
    found: dict[str, FunctionText] = {}
    line, counted = 1, 0
    for head in _HEAD.finditer(ptx):
        begin = ptx.find("{", head.end())
        declared = ptx.find(";", head.end())
        if begin < 0 or 0 <= declared < begin:
            continue  # a declaration
        end = _closing(ptx, begin, head["name"])
        line += ptx.count("\n", counted, head.start())
        counted = head.start()
        text = ptx[head.start() : end]
        found[head["name"]] = FunctionText(
            head["name"], head["kind"] == "entry", text, line, head["results"] or "", head["parameters"] or ""
        )
    return found


def _closing(ptx: str, begin: int, name: str) -> int:
    depth = 0
    for brace in _BRACE.finditer(ptx, begin):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if not depth and brace[0] == "}":
            return brace.end()
    raise UsageError(f"the PTX is truncated in function {name!r}: compile again")


@functools.lru_cache(maxsize=8)
def file_names(ptx: str) -> dict[int, str]:
    """Return the source files by their numbers in ``.loc``."""
    return {int(number): name for number, name in _FILE.findall(ptx)}


@functools.lru_cache(maxsize=8)
def module_variables(ptx: str) -> dict[str, PtxVariable]:
    """Return the variables declared outside of functions, in order."""
    found: dict[str, PtxVariable] = {}
    at = 0
    for text in (*function_texts(ptx).values(), None):
        end = ptx.find(text.text, at) if text else len(ptx)
        for match in _MODULE.finditer(ptx, at, end):
            declaration = _LINKAGE.sub("", _COMMENT.sub(" ", match[0]).strip().rstrip(";"))
            found.update((each.name, each) for each in _variables(declaration))
        at = end + len(text.text) if text else end
    return found


def function_names(ptx: str) -> list[str]:
    """Return the names of the functions that are not kernels."""
    return [name for name, text in function_texts(ptx).items() if not text.entry]


def _variables(text: str) -> Iterator[PtxVariable]:
    if match := _VARIABLE.fullmatch(text):
        count = 1
        for size in re.findall(r"\[(\d*)\]", match["dims"]):
            count *= int(size or 0)
        value = (match["value"] or "").strip()
        if match["dims"] and not count and value:
            count = len(split_operands(value.strip("{} \t\n")))
        type_ = match["type"]
        element = size_of(type_) * int(match["vector"] or 1) if re.search(r"\d", type_) or type_ == "pred" else 8
        yield PtxVariable(match["name"], match["space"], type_, int(match["align"] or element), element * count, value)


def parse_parameters(text: str) -> tuple[PtxVariable, ...]:
    """Parse a parameter list in parentheses."""
    inner = _COMMENT.sub(" ", text).strip().removeprefix("(").removesuffix(")")
    found: list[PtxVariable] = []
    for part in inner.split(",") if inner.strip() else ():
        part = part.strip()
        if part.startswith(".reg"):
            part = f".param{part.removeprefix('.reg')}"
        found += _variables(part)
    return tuple(found)


def parse_function(text: FunctionText, files: dict[int, str]) -> PtxFunction:
    """Parse the code of one function."""
    reader = _Reader(text, files)
    reader.read()
    return PtxFunction(
        text.name,
        text.entry,
        parse_parameters(text.results),
        parse_parameters(text.parameters),
        tuple(reader.items),
        reader.registers,
        tuple(reader.variables),
        reader.tables,
    )


_HINT = re.compile(r"\.L[12]::(?!\d)\w+|\.L2::\d+B")
"""Words for cache eviction and prefetching (PTX ISA, "Cache Eviction Priority Hints"). They do not affect values."""
_OPERANDS = re.compile(r"\s+|(?=[{\[(])")
"""Matches between an opcode and its operands. Inline assembly may have no space there."""


class _Reader:
    """Reads the statements of a function body in order."""

    def __init__(self, text: FunctionText, files: dict[int, str]) -> None:
        self._text, self._files = text, files
        self.items: list[Instruction | str] = []
        self.registers: dict[str, str] = {}
        self.variables: list[PtxVariable] = []
        self.tables: dict[str, tuple[str, ...]] = {}
        self._scopes: list[dict[str, str]] = []
        self._count = 0
        self._source: str | None = None
        self._header: str | None = None

    def read(self) -> None:
        text = self._text.text
        at = text.index("{", text.index(self._text.parameters) + len(self._text.parameters)) + 1
        line, counted = self._text.line, 0
        self._scopes.append({})
        for part in _PART.finditer(text, at):
            match part.lastgroup:
                case "open":
                    self._scopes.append({})
                case "close":
                    self._scopes.pop()
                    if not self._scopes:
                        break
                case "loc":
                    self._place(part)
                case "table":
                    self.tables[part["name"]] = tuple(each.strip() for each in part["rest"].split(","))
                case "label":
                    self.items.append(part["label"])
                case "statement":
                    line += text.count("\n", counted, part.start())
                    counted = part.start()
                    self._statement(part["statement"].strip(), line)

    def _place(self, loc: re.Match[str]) -> None:
        if loc["line"] == "0" and self._source:
            return
        self._source, self._header = self._named(loc["file"], loc["line"]), None
        if loc["outer_file"] and _is_header(self._source):
            self._source, self._header = self._named(loc["outer_file"], loc["outer_line"]), self._source

    def _named(self, file: str, line: str) -> str:
        return f"{self._files.get(int(file), f'file {file}')}:{line}"

    def _statement(self, text: str, line: int) -> None:
        text = _COMMENT.sub(" ", text)
        if text.startswith(".reg"):
            self._declare(text)
        elif text.startswith("."):
            self.variables += _variables(text)
        elif text:
            self.items.append(self._instruction(text, line))

    def _declare(self, text: str) -> None:
        match = _REGISTER.fullmatch(text)
        assert match is not None, text
        scope = self._scopes[-1]
        if len(self._scopes) > 1:
            self._count += 1
        for part in match["names"].split(","):
            name = part.strip()
            if range_ := _RANGE.fullmatch(name):
                several = [f"{range_[1]}{i}" for i in range(int(range_[2]))]
            else:
                several = [name]
            for each in several:
                scope[each] = each if len(self._scopes) == 1 else f"{each}$scope{self._count}"
                self.registers[scope[each]] = match["type"]

    def _instruction(self, text: str, line: int) -> Instruction:
        guard, rest = text.split(None, 1) if text.startswith("@") else ("", text)
        parts = _OPERANDS.split(rest, maxsplit=1)
        operands = split_operands(parts[1]) if len(parts) > 1 else []
        opcode = _HINT.sub("", parts[0])
        if opcode.startswith("createpolicy."):
            opcode, operands = "mov.b64", [operands[0], "0"]
        elif "L2::cache_hint" in parts[0]:
            operands.pop()
        source, header = self._source, self._header
        return Instruction(
            " ".join(text.split()),
            opcode,
            tuple(self._renamed(operand) for operand in operands),
            (self._renamed(guard),) if guard else (),
            line,
            source,
            None,
            header,
        )

    def _renamed(self, operand: str) -> str:
        """Replace the registers of inner scopes in an operand by their unique names."""
        if len(self._scopes) < 2:
            return operand
        return _WORD.sub(lambda match: self._found(match[0]), operand)

    def _found(self, name: str) -> str:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return name


_WORD = re.compile(rf"(?<![\w$%.]){NAME}")


def _is_header(place: str) -> bool:
    name = PurePath(place.rpartition(":")[0])
    return not {"include", CUDA_ALIAS}.isdisjoint(name.parts) and name.suffix in (".h", ".hpp", ".cuh", "")


def split_operands(text: str) -> list[str]:
    """Split an operand list at commas outside of brackets."""
    parts: list[str] = []
    depth, begin = 0, 0
    for i, letter in enumerate(text):
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and not depth:
            parts.append(text[begin:i].strip())
            begin = i + 1
    parts.append(text[begin:].strip())
    return [part for part in parts if part]


def names_in(operands: Sequence[str]) -> list[str]:
    """Return the registers and symbols in operands."""
    return [name for operand in operands for name in _WORD.findall(operand)]
