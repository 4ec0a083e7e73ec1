"""Inline PTX: the commonest instructions become C++ by the table ``ptx_to_cpp.csv``, all others are refused by name.

A row is an instruction with named operands, each with its type (``bfe.u32 d:u32, a:u32, b:u32, c:u32``), and C++
statements that compute the outputs from the inputs; an address of shared memory is ``[shared a:u32]``. A statement
``asm("..." : ... : ...)`` is translated only if its template is such instructions, operand by operand, with registers
of their own (``.reg``) and predicates (``@p``), but no labels. What is refused becomes a call that the compiler rejects
where it is compiled: the rest of the file can be used, and a kernel that needs the instruction is refused at its place.

Assembly that is not PTX (the host's, or AMD's own) stays as it is.
"""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources

from parity.toolchain.lexing import COMMENT_OR_LITERAL

__all__ = ["Refused", "Row", "rows", "translate"]

TABLE = "ptx_to_cpp.csv"

TYPES = {
    "b16": "unsigned short", "u16": "unsigned short", "s16": "short", "b32": "unsigned", "u32": "unsigned",
    "s32": "int", "b64": "unsigned long long", "u64": "unsigned long long", "s64": "long long", "f32": "float",
    "f64": "double", "b8": "unsigned char", "u8": "unsigned char", "s8": "signed char", "pred": "bool",
    "f16x2": "_Float16 __attribute__((ext_vector_type(2)))",
}  # fmt: skip
"""The C++ type of each type of a row; an address (``[a:u32]``) is a pointer to its type."""

_BITS = {kind: 32 if name == "f16x2" else 1 if name == "pred" else int(name[1:]) for name, kind in TYPES.items()}

_OPCODES = """
abs activemask add addc alloca and applypriority atom bar barrier bfe bfi bfind bmsk bra brev brkpt call
clusterlaunchcontrol clz cnot copysign cos cp createpolicy cvt cvta discard div dp2a dp4a elect ex2 exit fence fma fns
getctarank griddepcontrol isspacep istypep ld ldmatrix ldu lg2 lop3 mad mad24 madc mapa match max mbarrier membar min
mma mov movmatrix mul mul24 multimem nanosleep neg not or pmevent popc prefetch prefetchu prmt rcp red redux rem ret
rsqrt sad selp set setmaxnreg setp shf shfl shl shr sin slct sqrt st stackrestore stacksave stmatrix sub subc suld suq
sured sust szext tanh tcgen05 tensormap testp tex tld4 trap txq vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2
vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vote vset vset2 vset4 vshl vshr vsub vsub2 vsub4 wgmma wmma xor
"""
OPCODES = frozenset(_OPCODES.split())
"""The instructions of PTX ISA 8.7."""

_ASM = re.compile(
    rf"""{COMMENT_OR_LITERAL}
    | (?P<asm> \b(?:asm|__asm|__asm__)\b [\s\\]* (?:(?:volatile|__volatile__|inline)\b[\s\\]*)* \( )""",
    re.VERBOSE | re.DOTALL,
)
_TOKEN = re.compile(rf"{COMMENT_OR_LITERAL} | (?P<mark>::|[:()\[\]{{}},])", re.VERBOSE | re.DOTALL)
_INSTRUCTION = re.compile(
    r"(?:@(?P<guard>!?[%\w$]+)\s+)?(?P<opcode>[a-z]\w*(?:\.[\w:]+)*)\s*(?P<operands>.*)", re.DOTALL
)
_REGISTERS = re.compile(r"\.reg\s*\.(?P<type>\w+)\s+(?P<names>[%\w$]+(?:\s*,\s*[%\w$]+)*)")
_SHARED = re.compile(r"\[shared (?P<name>[a-z]):")
_SKIPPED_PTX = re.compile(r"//[^\n]*|/\*.*?\*/|[{}]|\.reg\b[^;]*;|\.pragma\b[^;]*;|[\w$]+:(?!:)", re.DOTALL)
_NAMED = re.compile(r"\b(?P<name>[a-z]):(?P<type>\w+)")
_PART = re.compile(r"\.([bh])([0-3])$")
"""The byte or the half of an operand that a video instruction takes."""
_REFERENCE = re.compile(r"%(\d+)")
_NUMBER = re.compile(r"-?(?:0[xX][\da-fA-F]+|\d+)[uU]?|-?\d+\.\d*")
_INTEGER = re.compile(r"\b0[xX][\da-fA-F]+\b")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass(frozen=True)
class Refused:
    """An instruction that is not translated, and where in the text its statement begins."""

    instruction: str
    at: int


@dataclass(frozen=True)
class Row:
    """One row of the table: the instruction, a pattern for the operands, the C++ type of each, and statements.

    ``addresses`` are the names of operands that point, those of ``shared`` into shared memory, by its own addresses of
    32 bits; ``outputs`` are those that are assigned.
    """

    instruction: re.Pattern[str]
    operands: re.Pattern[str]
    types: Mapping[str, str]
    addresses: frozenset[str]
    shared: frozenset[str]
    outputs: frozenset[str]
    statements: str


@dataclass(frozen=True)
class _Operand:
    """An operand of the statement: its constraint, its expression, and the variable that stands for that, if any."""

    constraint: str
    expression: str
    local: str = ""

    @property
    def is_written(self) -> bool:
        return self.constraint[:1] in ("=", "+")

    @property
    def declared(self) -> str:
        """The declaration of the variable."""
        if self.constraint[:1] == "=":
            return f"__typeof__({self.expression}) {self.local};"
        return f"auto {self.local} = {self.expression};"


@dataclass(frozen=True)
class _Register:
    """A register that a statement declares, as a variable: its name and its type."""

    name: str
    kind: str


@dataclass(frozen=True)
class _Statement:
    template: str
    operands: tuple[_Operand, ...]
    end: int


@functools.cache
def rows() -> tuple[Row, ...]:
    """The rows, those with a list of types once for each."""
    text = resources.files(__package__).joinpath(TABLE).read_text(encoding="utf-8")
    return tuple(
        _row(row["ptx"], row["cpp"], name)
        for row in csv.DictReader(text.splitlines())
        for name in row["types"].split() or [""]
    )


def _row(ptx: str, cpp: str, name: str) -> Row:
    """A row of the table for one of its types, which stands for ``T``."""
    if name:
        ptx, cpp = re.sub(r"\bT\b", name, ptx), re.sub(r"\bT\b", TYPES[name], cpp)
    instruction, _, operands = ptx.partition(" ")
    shared = frozenset(_SHARED.findall(operands))
    operands = operands.replace("[shared ", "[")
    types = {match["name"]: TYPES[match["type"]] for match in _NAMED.finditer(operands)}
    pattern = re.escape(operands.replace(" ", ""))
    addresses = frozenset(each for each in types if f"[{each}:" in operands)
    return Row(
        re.compile(instruction.replace(".", r"\.")),
        re.compile(_NAMED.sub(lambda m: rf"(?P<{m['name']}>[^,\[\]{{}}]+)", pattern)),
        types,
        addresses,
        shared,
        frozenset(each for each in types if re.search(rf"\b{each} \|?=(?!=)", cpp)) - addresses,
        cpp,
    )


def _rows_of(instruction: str) -> Iterator[Row]:
    return (row for row in rows() if row.instruction.fullmatch(instruction))


def translate(text: str, is_compiled: Callable[[int], bool]) -> tuple[str, list[Refused]]:
    """The text with its inline PTX as C++, line by line, and what was refused.

    ``is_compiled`` tells of a place whether the preprocessor may leave it in; what it does not is left alone.
    """
    refused: list[Refused] = []
    parts: list[str] = []
    done = 0
    for match in _ASM.finditer(text):
        if not match["asm"] or match.start() < done or not is_compiled(match.start()):
            continue
        statement = _parse(text, match.end())
        if statement is None or not (name := _ptx(statement.template)):
            continue
        new = _translated(statement)
        if new is None:
            refused.append(Refused(name, match.start()))
            new = _refusal(name)
        ends = re.findall(r"\\?\r?\n", text[match.start() : statement.end])
        parts += [text[done : match.start()], new, *ends]
        done = statement.end
    return "".join([*parts, text[done:]]), refused


def _refusal(name: str) -> str:
    function = "parity_refuses_" + re.sub(r"\W", "_", name)
    message = f"inline PTX ({name}) that is not translated; write it in C++ for AMD GPUs"
    declared = f'extern __host__ __device__ void {function}() __attribute__((error("{message}")))'
    return f"do {{ {declared}; {function}(); }} while (0)"


def _ptx(template: str) -> str:
    """The first instruction that is not in the table, or else the first one; empty if this is no PTX."""
    names = []
    for part in _SKIPPED_PTX.sub(" ", template).split(";"):
        match = _INSTRUCTION.match(part.strip())
        if match and match["opcode"].partition(".")[0] in OPCODES:
            names.append(match["opcode"])
    # x86 has some of these names too, but only for whole instructions without a type.
    if not names or (";" not in template and not any("." in name for name in names)):
        return ""
    return next((name for name in names if not any(_rows_of(name))), names[0])


def _translated(statement: _Statement) -> str | None:
    """The C++ statement, without its semicolon."""
    template = re.sub(r"//[^\n]*|/\*.*?\*/", " ", statement.template).strip()
    template = re.sub(r"^\{(.*)\}$", r"\1", template, flags=re.DOTALL).strip().replace("%%", "%")
    pieces = [piece for each in template.split(";") if (piece := each.lstrip("{} \t\r\n").rstrip())]
    registers: dict[str, _Register] = {}
    for piece in pieces:
        if declared := _REGISTERS.fullmatch(piece):
            if declared["type"] not in TYPES:
                return None
            for name in re.split(r"\s*,\s*", declared["names"]):
                registers[name] = _Register(f"ptx_r{len(registers)}", TYPES[declared["type"]])
    instructions = [match for piece in pieces if (match := _INSTRUCTION.fullmatch(piece))]
    if len(instructions) != sum(not _REGISTERS.fullmatch(piece) for piece in pieces):
        return None
    if len(instructions) == 1 and not instructions[0]["guard"] and not registers:
        return _instruction(instructions[0], statement.operands, {})
    # Of several, none sees what another has written to an operand that is one of its own.
    places = range(len(statement.operands))
    given = tuple(replace(statement.operands[i], local=f"ptx_o{i}") for i in places)
    lines = [_instruction(match, given, registers) for match in instructions]
    guards = [_guard(match["guard"], registers) for match in instructions]
    if not all(lines) or None in guards or not all(each.expression for each in given):
        return None
    return " ".join(
        (
            "do {",
            *(each.declared for each in given),
            *(f"{each.kind} {each.name};" for each in registers.values()),
            *(f"{guard}{line};" for guard, line in zip(guards, lines, strict=True)),
            *(f"({each.expression}) = {each.local};" for each in given if each.is_written),
            "} while (0)",
        )
    )


def _guard(written: str | None, registers: Mapping[str, _Register]) -> str | None:
    """What makes an instruction depend on a predicate; None if that is no register."""
    if not written:
        return ""
    register = registers.get(written.removeprefix("!"))
    return f"if ({'!' * written.startswith('!')}{register.name}) " if register and register.kind == "bool" else None


def _instruction(match: re.Match[str], operands: Sequence[_Operand], registers: Mapping[str, _Register]) -> str | None:
    """The C++ statement for one instruction."""
    text = re.sub(r"\s+", "", match["operands"])
    text = _INTEGER.sub(lambda m: str(int(m[0], 16)), _REFERENCE.sub(lambda m: _literal(m, operands), text))
    for row in _rows_of(match["opcode"]):
        if found := row.operands.fullmatch(text):
            return _emit(row, found.groupdict(), operands, registers)
    return None


def _emit(
    row: Row, given: Mapping[str, str], operands: Sequence[_Operand], registers: Mapping[str, _Register]
) -> str | None:
    """The statements of a row for the operands that stand in a template."""
    before: list[str] = []
    after: list[str] = []
    for name, written in given.items():
        kind = row.types[name]
        if register := registers.get(written):
            if (kind == "bool") != (register.kind == "bool"):
                return None
            if name in row.outputs:
                before.append(f"{kind} ptx_{name};")
                after.append(f"{register.name} = {_as(register.kind, kind, f'ptx_{name}')};")
                continue
            expression, offset = register.name, "0"
            if name not in row.addresses:
                before.append(f"const {kind} ptx_{name} = {_as(kind, register.kind, register.name)};")
                continue
            given_as = kind
        else:
            operand = _operand(written, operands, registers)
            if operand is None:
                return None
            expression, offset = operand
            given_as = _given_as(written, kind, operands)
        if name in row.outputs:
            place = re.fullmatch(r"%(\d+)", written)
            if place is None or not operands[int(place[1])].is_written:
                return None
            before.append(f"{kind} ptx_{name};")
            after.append(f"({expression}) = {_as(given_as, kind, f'ptx_{name}')};")
        elif name in row.addresses:
            address = f"(unsigned long long)({expression})"
            if name in row.shared:
                address = f"(__attribute__((address_space(3))) {kind}*)((unsigned)({address}) + {offset})"
            else:
                address = f"({address} + {offset})"
            before.append(f"{kind}* const ptx_{name} = ({kind}*){address};")
        elif offset != "0":
            return None
        elif part := _PART.search(written):  # of a video instruction: extended with zeros or with the sign
            bits = 8 if part[1] == "b" else 16
            word = f"(unsigned)({expression}) << {32 - bits - bits * int(part[2])}"
            before.append(f"const {kind} ptx_{name} = ({kind})({word}) >> {32 - bits};")
        else:
            before.append(f"const {kind} ptx_{name} = {_as(kind, given_as, f'({given_as})({expression})')};")
    names = "|".join(row.types)
    statements = re.sub(rf"\b({names})\b", r"ptx_\1", row.statements) if names else row.statements
    return " ".join(["do {", *before, f"{{ {statements}; }}", *after, "} while (0)"])


def _given_as(written: str, kind: str, operands: Sequence[_Operand]) -> str:
    """The type of an operand of the statement, where a float stands for its bits or bits for a float; else ``kind``."""
    match = re.fullmatch(r"%(\d+)", written)
    constraint = operands[int(match[1])].constraint[-1:] if match else ""
    floats, integers = {"f": "float", "d": "double"}, {"r": "unsigned", "l": "unsigned long long"}
    wanted = (integers if kind in floats.values() else floats).get(constraint, kind)
    return wanted if _BITS[wanted] == _BITS[kind] else kind


def _as(to: str, kind: str, expression: str) -> str:
    """A register's content as another type: its bits, of which a wider or a narrower type has more or fewer."""
    if to == kind:
        return expression
    return f"__builtin_bit_cast({to}, {expression})" if _BITS[to] == _BITS[kind] else f"({to})({expression})"


def _literal(reference: re.Match[str], operands: Sequence[_Operand]) -> str:
    """What stands for an operand: itself if it is an integer."""
    place = int(reference[1])
    if place < len(operands) and re.fullmatch(r"\d+|0[xX][\da-fA-F]+", operands[place].expression):
        return operands[place].expression
    return reference[0]


def _operand(written: str, operands: Sequence[_Operand], registers: Mapping[str, _Register]) -> tuple[str, str] | None:
    """The expression behind an operand of a template, and what is added to it."""
    name, _, offset = _PART.sub("", written).partition("+")
    if offset and not offset.isdigit():
        return None
    if name in registers:
        return registers[name].name, offset or "0"
    match = re.fullmatch(r"%(\d+)", name)
    if match and int(match[1]) < len(operands) and operands[int(match[1])].expression:
        operand = operands[int(match[1])]
        return operand.local or operand.expression, offset or "0"
    return (written, "0") if _NUMBER.fullmatch(written) else None


def _parse(text: str, start: int) -> _Statement | None:
    """The statement whose parenthesis opens before ``start``."""
    sections: list[list[str]] = [[""]]
    depth, at = 0, start
    while match := _TOKEN.search(text, at):
        sections[-1][-1] += text[at : match.start()]
        at = match.end()
        mark = match["mark"]
        if mark == ")" and depth == 0:
            return _statement(sections, at)
        if mark in (":", "::") and depth == 0 and len(sections) + len(mark) <= 4:
            sections += [[""] for _ in mark]
        elif mark == "," and depth == 0:
            sections[-1].append("")
        elif match["comment"] is None:
            depth += (mark in ("(", "[", "{")) - (mark in (")", "]", "}")) if mark else 0
            sections[-1][-1] += match[0]
    return None


def _statement(sections: Sequence[Sequence[str]], end: int) -> _Statement | None:
    template = _joined(sections[0][0])
    operands = [_given(part) for section in sections[1:3] for part in section if part.strip(" \t\r\n\\")]
    return None if template is None else _Statement(template, tuple(operands), end)


def _given(text: str) -> _Operand:
    """An operand; one of a form that is not understood has no expression."""
    match = re.fullmatch(r'\s*"([^"]*)"\s*\((.*)\)\s*', re.sub(r"\\\r?\n", " ", text), re.DOTALL)
    return _Operand(match[1], " ".join(match[2].split())) if match else _Operand("", "")


def _joined(text: str) -> str | None:
    """The value of adjacent string literals; None if there is anything else, such as a macro."""
    text = re.sub(r"\\\r?\n", " ", text)
    pieces = re.findall(r'R"(\w*)\((.*?)\)\1"|"((?:[^"\\]|\\.)*)"|(\S)', text, re.DOTALL)
    if not pieces or any(other for *_, other in pieces):
        return None
    return "".join(raw or re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), plain) for _, raw, plain, _ in pieces)
