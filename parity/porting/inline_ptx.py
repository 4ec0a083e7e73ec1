"""Inline PTX: the commonest instructions become C++ by the table ``ptx_to_cpp.csv``, all others are refused by name.

A row is an instruction with named operands, each with its type (``bfe.u32 d:u32, a:u32, b:u32, c:u32``), and C++
statements that compute the outputs from the inputs; ``[a:u32@shared]`` is an address in shared memory, and ``cc`` in
statements is the carry flag. A statement ``asm("..." : ... : ...)`` is translated only if its template is one such
instruction or several, operand by operand: its registers become variables, a guard ``@p`` an ``if``. Labels and what
jumps to them are refused. What is refused becomes a call that the compiler rejects where it is compiled: the rest of
the file can be used, and a kernel that needs the instruction is refused at the place of it.

The carry flag outlives a statement, and C++ has no name for it: where a statement leaves or takes it, it is what
``ptx_carry()`` of ``parity/compat/ptx.h`` refers to.

Assembly that is not PTX (the host's, or AMD's own) stays as it is.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from parity.compilers.lexing import COMMENT_OR_LITERAL
from parity.platform.files import read_table

__all__ = ["Refused", "Row", "macros_of_statements", "rows", "translate"]

TABLE = Path(__file__).with_name("ptx_to_cpp.csv")

TYPES = {
    "b16": "unsigned short", "u16": "unsigned short", "s16": "short", "b32": "unsigned", "u32": "unsigned",
    "s32": "int", "b64": "unsigned long long", "u64": "unsigned long long", "s64": "long long", "f32": "float",
    "f64": "double", "b8": "unsigned char", "u8": "unsigned char", "s8": "signed char",
    "pred": "bool",
}  # fmt: skip
"""The C++ type of each type of a row; an address (``[a:u32]``) is a pointer to its type."""

_REGISTERS = {**TYPES, "f16": "unsigned short", "bf16": "unsigned short", "f16x2": "unsigned", "bf16x2": "unsigned"}
"""The C++ type of a register by the type with which it is declared."""

_CONSTRAINTS = {"h": "u16", "r": "u32", "l": "u64", "f": "f32", "d": "f64"}
"""The type of the register of an operand by the letter of its constraint."""

_POINTER = '"l"'
"""The constraint of a pointer, where a program chooses by the width of pointers."""

_WORDS = {"float": "unsigned", "double": "unsigned long long"}
"""The type with the bits of a floating-point type."""

_SHARED = "__attribute__((address_space(3)))"
"""Shared memory: an address in it is an offset of 32 bits, of PTX and of AMD GPUs alike."""

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
_LITERALS = r'(?:[ \t]*(?:"(?:[^"\\\n]|\\.)*"|\#[ \t]*\w+))*[ \t]*'
_MACRO = re.compile(
    rf"^[ \t]*\#[ \t]*define[ \t]+(?P<name>\w+)(?:\((?P<parameter>\w*)\))?(?P<body>{_LITERALS})(?://[^\n]*)?$",
    re.MULTILINE,
)
"""A macro that is a part of a template: literals, and its parameter as one; or nothing."""
_TOKEN = re.compile(rf"{COMMENT_OR_LITERAL} | (?P<mark>::|[:()\[\]{{}},])", re.VERBOSE | re.DOTALL)
_USE = re.compile(
    rf"{COMMENT_OR_LITERAL} | \b(?P<name>[A-Za-z_]\w*) (?:\((?P<argument>\w*)\))?", re.VERBOSE | re.DOTALL
)
_INSTRUCTION = re.compile(
    r"(?:@(?P<guard>!?[%$\w]+)\s+)?(?P<opcode>[a-z]\w*(?:\.[\w:]+)*)\s*(?P<operands>.*)", re.DOTALL
)
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_LABEL = re.compile(r"[\w$%]+:(?!:)")
_DECLARED = re.compile(r"\.reg\s*\.(?P<type>\w+)\s+(?P<names>[%$\w<>,\s]+)")
_NUMBERED = re.compile(r"(?P<name>[%$\w]+)<(?P<count>\d+)>")
_NAMED = re.compile(r"\b(?P<name>[a-z]):(?P<type>\w+)(?:@(?P<space>\w+))?")
_PART = re.compile(r"\.([bh])([0-3])$")
"""The byte or the half of an operand that a video instruction takes."""
_REFERENCE = re.compile(r"%(\d+)")
_STRINGIZED = re.compile(r"""(?P<literal>"(?:[^"\\\n]|\\.)*")|\#[ \t]*(?P<name>\w+)""")
"""A literal of a template, or the parameter of the macro around it as one."""
_UNKNOWN = re.compile(r"""(?P<literal>R?"(?:[^"\\\n]|\\.)*")|\b(?P<name>[A-Za-z_]\w*)""")
"""A literal of a template, or a name between them: a macro that is not known, or the parameter of the one around it."""
_INTEGER = re.compile(r"\b0[xX][\da-fA-F]+\b")
_LIST_OF_ONE = re.compile(r"\{([^{},]+)\}")
_FLOAT = re.compile(r"0(?:[fF](?P<float>[\da-fA-F]{8})|[dD](?P<double>[\da-fA-F]{16}))")
_CARRY = re.compile(r"\bcc\b(?P<written> =(?!=))?")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass(frozen=True)
class Refused:
    """An instruction that is not translated, and where in the text its statement begins."""

    instruction: str
    at: int


@dataclass(frozen=True)
class Row:
    """One row of the table: the instruction, a pattern for the operands, the C++ type of each, and statements.

    ``addresses`` are the names of operands that point, each with the space in which it does, ``outputs`` those that are
    assigned. ``carry`` says of each use of the carry flag whether it is written.
    """

    instruction: re.Pattern[str]
    operands: re.Pattern[str]
    types: Mapping[str, str]
    addresses: Mapping[str, str]
    outputs: frozenset[str]
    statements: str

    @property
    def carry(self) -> tuple[bool, ...]:
        return tuple(bool(match["written"]) for match in _CARRY.finditer(self.statements))


@dataclass(frozen=True)
class _Value:
    """The C++ of a register: an expression, its type if that is known, and whether it can be assigned."""

    expression: str
    kind: str = ""
    is_place: bool = False


@dataclass(frozen=True)
class _Operand:
    """An operand of the statement: its constraint, and its expression."""

    constraint: str
    expression: str

    @property
    def is_written(self) -> bool:
        return self.constraint[:1] in ("=", "+")

    @property
    def kind(self) -> str:
        """The C++ type of its register; empty for a constant."""
        return TYPES.get(_CONSTRAINTS.get(self.constraint.strip("=+&"), ""), "")


@dataclass(frozen=True)
class _Statement:
    """A statement; one that is not whole has names in its template of which nobody knows what they stand for."""

    template: str
    operands: tuple[_Operand, ...]
    end: int
    is_whole: bool = True


@dataclass(frozen=True)
class _Instruction:
    guard: str
    opcode: str
    operands: str


@dataclass(frozen=True)
class _Program:
    """A template: the registers that it declares, with the C++ type of each, and its instructions."""

    registers: Mapping[str, str]
    instructions: tuple[_Instruction, ...]


@functools.cache
def rows() -> tuple[Row, ...]:
    """The rows, those with a list of types once for each."""
    return tuple(
        _row(row["ptx"], row["cpp"], name) for row in read_table(TABLE) for name in row["types"].split() or [""]
    )


def _row(ptx: str, cpp: str, name: str) -> Row:
    """A row of the table for one of its types, which stands for ``T``."""
    if name:
        ptx, cpp = re.sub(r"\bT\b", name, ptx), re.sub(r"\bT\b", TYPES[name], cpp)
    instruction, _, operands = ptx.partition(" ")
    types = {match["name"]: TYPES[match["type"]] for match in _NAMED.finditer(operands)}
    pattern = re.escape(operands.replace(" ", ""))
    addresses = {m["name"]: m["space"] or "" for m in _NAMED.finditer(operands) if f"[{m['name']}:" in operands}
    return Row(
        re.compile(instruction.replace(".", r"\.")),
        re.compile(_NAMED.sub(lambda m: rf"(?P<{m['name']}>[^,\[\]{{}}]+)", pattern)),
        types,
        addresses,
        frozenset(each for each in types if re.search(rf"\b{each} \|?=(?!=)", cpp)) - addresses.keys(),
        cpp,
    )


def _rows_of(instruction: str) -> Iterator[Row]:
    return (row for row in rows() if row.instruction.fullmatch(instruction))


def macros_of_statements(texts: Iterable[str]) -> str:
    """The definitions in these texts of macros that are a part of a statement: its template, or a constraint."""
    return "\n".join(dict.fromkeys(match[0] for text in texts for match in _MACRO.finditer(text) if '"' in match[0]))


def translate(text: str, is_compiled: Callable[[int], bool], macros: str = "") -> tuple[str, list[Refused]]:
    """The text with its inline PTX as C++, line by line, and what was refused.

    ``is_compiled`` tells of a place whether the preprocessor may leave it in; what it does not is left alone.
    ``macros`` are definitions of other files, see ``macros_of_statements``.
    """
    refused: list[Refused] = []
    parts: list[str] = []
    done = 0
    known: dict[str, re.Match[str]] = {}
    for match in _MACRO.finditer(f"{macros}\n{text}"):
        if match["name"] not in known or known[match["name"]]["body"].strip() != _POINTER:
            known[match["name"]] = match  # of several, the last: they differ in hints
    for match in _ASM.finditer(text):
        if not match["asm"] or match.start() < done or not is_compiled(match.start()):
            continue
        statement = _parse(text, match.end(), known)
        if statement is None or not (name := _ptx(statement.template)):
            continue
        new = _translated(statement) if statement.is_whole else None
        if not isinstance(new, str):
            name = new.opcode if new else name
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
    for part in _parts(template):
        match = _INSTRUCTION.match(_LABEL.sub(" ", part).strip())
        if match and match["opcode"].partition(".")[0] in OPCODES:
            names.append(match["opcode"])
    # x86 has some of these names too, but only for whole instructions without a type.
    if not names or (";" not in template and not any("." in name for name in names)):
        return ""
    return next((name for name in names if not any(_rows_of(name))), names[0])


def _parts(template: str) -> Iterator[str]:
    """The instructions between semicolons, without the braces of blocks: none begins with the brace of a vector."""
    for part in _COMMENTS.sub(" ", template).split(";"):
        if text := part.strip().lstrip("{} \t\r\n"):
            yield text


def _program(template: str) -> _Program | None:
    """The template as registers and instructions; None if there is anything else in it."""
    registers: dict[str, str] = {}
    instructions: list[_Instruction] = []
    for part in _parts(template):
        if declared := _DECLARED.fullmatch(part):
            kind = _REGISTERS.get(declared["type"])
            names = [name for text in declared["names"].split(",") for name in _numbered(text.strip())]
            if kind is None or any(registers.get(name, kind) != kind for name in names):
                return None
            registers |= {name.replace("%%", "%"): kind for name in names}
        elif not part.startswith(".pragma"):
            match = _INSTRUCTION.fullmatch(part)
            if match is None or match["opcode"].partition(".")[0] not in OPCODES:
                return None
            operands = re.sub(r"\s+", "", match["operands"]).replace("%%", "%")
            instructions.append(_Instruction((match["guard"] or "").replace("%%", "%"), match["opcode"], operands))
    return _Program(registers, tuple(instructions))


def _numbered(name: str) -> Iterator[str]:
    """``r<3>`` declares r0, r1 and r2."""
    match = _NUMBERED.fullmatch(name)
    yield from (f"{match['name']}{i}" for i in range(int(match["count"]))) if match else (name,)


def _translated(statement: _Statement) -> str | _Instruction | None:
    """The C++ statement, without its semicolon; or the instruction that is not translated, if it is one's fault."""
    program = _program(statement.template)
    if program is None or not program.instructions:
        return None
    registers = {
        name: _Value("ptx_r_" + re.sub(r"\W", "_", name), kind, True) for name, kind in program.registers.items()
    }
    before = [f"{value.kind} {value.expression};" for value in registers.values()]
    after: list[str] = []
    for number, operand in enumerate(statement.operands):
        value = _Value(operand.expression, operand.kind, operand.is_written)
        # Of several instructions one may read what another has written.
        if len(program.instructions) > 1 and operand.kind:
            value = _Value(f"ptx_{number}", operand.kind, True)
            reads = operand.constraint[:1] != "="
            start = f" = ({operand.kind})({operand.expression})" if reads else ""
            before.append(f"{operand.kind} {value.expression}{start};")
            written = _Value(operand.expression, operand.kind)
            after += [_assigned(written, value.expression)] if operand.is_written else []
        registers[f"%{number}"] = value
    lines: list[str] = []
    uses: list[bool] = []
    for instruction in program.instructions:
        line = _instruction(instruction, registers, statement.operands)
        if line is None:
            return instruction
        row, text = line
        uses += row.carry
        lines.append(text)
    if uses:
        before.append(f"unsigned ptx_cc = {'0' if uses[0] else 'ptx_carry()'};")
        after += ["ptx_carry() = ptx_cc;"] if uses[-1] else []
    return " ".join(["do {", *before, *lines, *after, "} while (0)"])


def _instruction(
    instruction: _Instruction, registers: Mapping[str, _Value], operands: Sequence[_Operand]
) -> tuple[Row, str] | None:
    """The row of an instruction, and its C++ statements."""
    given = _REFERENCE.sub(lambda m: _literal(m, operands), instruction.operands)
    given = _INTEGER.sub(lambda m: str(int(m[0], 16)), given)
    plain = _LIST_OF_ONE.sub(r"\1", given)
    guard, negated = instruction.guard.removeprefix("!"), "!" * instruction.guard.startswith("!")
    if guard and getattr(registers.get(guard), "kind", "") != "bool":
        return None
    for row in _rows_of(instruction.opcode):
        found = row.operands.fullmatch(given) or row.operands.fullmatch(plain)
        if found and (text := _emit(row, found.groupdict(), registers)):
            return row, f"if ({negated}{registers[guard].expression}) {{ {text} }}" if guard else text
    return None


def _emit(row: Row, given: Mapping[str, str], registers: Mapping[str, _Value]) -> str | None:
    """The statements of a row for the operands that stand in a template."""
    before: list[str] = []
    after: list[str] = []
    for name, written in given.items():
        operand = _operand(written, registers)
        if operand is None:
            return None
        value, offset = operand
        kind = row.types[name]
        if name in row.outputs:
            if not value.is_place or _PART.search(written):
                return None
            before.append(f"{kind} ptx_{name};")
            after.append(_assigned(value, _converted(value.kind, _Value(f"ptx_{name}", kind))))
        elif name in row.addresses:
            before.append(
                f"{kind}* const ptx_{name} = {_pointer(kind, row.addresses[name], value.expression, offset)};"
            )
        elif offset != "0":
            return None
        elif part := _PART.search(written):  # of a video instruction: extended with zeros or with the sign
            bits = 8 if part[1] == "b" else 16
            word = f"(unsigned)({value.expression}) << {32 - bits - bits * int(part[2])}"
            before.append(f"const {kind} ptx_{name} = ({kind})({word}) >> {32 - bits};")
        else:
            before.append(f"const {kind} ptx_{name} = {_converted(kind, value)};")
    names = "|".join((*row.types, "cc"))
    statements = re.sub(rf"\b({names})\b", r"ptx_\1", row.statements)
    body = " ".join([*before, f"{{ {statements}; }}", *after])
    return f"{{ {body} }}" if before else body


def _assigned(to: _Value, value: str) -> str:
    """An assignment; what the constraint ``l`` writes may be a pointer."""
    as_it_is = f"(__typeof__({to.expression}))" if to.kind == "unsigned long long" else ""
    return f"({to.expression}) = {as_it_is}{value};"


def _pointer(kind: str, space: str, expression: str, offset: str) -> str:
    if space == "shared":
        return f"({kind}*)({_SHARED} {kind}*)((unsigned)(unsigned long long)({expression}) + {offset}u)"
    return f"({kind}*)((unsigned long long)({expression}) + {offset})"


def _converted(kind: str, value: _Value) -> str:
    """The value as of a type: where one instruction has a number and another an integer, the bits are the same."""
    if not kind:
        return value.expression
    if value.kind and _WORDS.get(kind) and value.kind not in _WORDS:
        return f"__builtin_bit_cast({kind}, ({_WORDS[kind]})({value.expression}))"
    if value.kind in _WORDS and kind not in _WORDS:
        return f"({kind})__builtin_bit_cast({_WORDS[value.kind]}, ({value.kind})({value.expression}))"
    return f"({kind})({value.expression})"


def _literal(reference: re.Match[str], operands: Sequence[_Operand]) -> str:
    """The text for an operand: itself if it is an integer."""
    place = int(reference[1])
    if place < len(operands) and re.fullmatch(r"\d+|0[xX][\da-fA-F]+", operands[place].expression):
        return operands[place].expression
    return reference[0]


def _operand(written: str, registers: Mapping[str, _Value]) -> tuple[_Value, str] | None:
    """The C++ of an operand of a template, and the number that is added to it."""
    name, _, offset = _PART.sub("", written).partition("+")
    if (value := registers.get(name)) and value.expression and re.fullmatch(r"\d*", offset):
        return value, offset or "0"
    if match := _FLOAT.fullmatch(written):
        word = f"0x{match['float']}u" if match["float"] else f"0x{match['double']}ull"
        return _Value(f"__builtin_bit_cast({'float' if match['float'] else 'double'}, {word})"), "0"
    return (_Value(written), "0") if re.fullmatch(r"-?(?:0[xX][\da-fA-F]+|\d+)[uU]?|-?\d+\.\d+", written) else None


def _parse(text: str, start: int, macros: Mapping[str, re.Match[str]]) -> _Statement | None:
    """The statement whose parenthesis opens before ``start``."""
    sections: list[list[str]] = [[""]]
    depth, at = 0, start
    while match := _TOKEN.search(text, at):
        sections[-1][-1] += text[at : match.start()]
        at = match.end()
        mark = match["mark"]
        if mark == ")" and depth == 0:
            return _statement(sections, at, macros)
        if mark in (":", "::") and depth == 0 and len(sections) + len(mark) <= 4:
            sections += [[""] for _ in mark]
        elif mark == "," and depth == 0:
            sections[-1].append("")
        elif match["comment"] is None:
            depth += (mark in ("(", "[", "{")) - (mark in (")", "]", "}")) if mark else 0
            sections[-1][-1] += match[0]
    return None


def _statement(sections: Sequence[Sequence[str]], end: int, macros: Mapping[str, re.Match[str]]) -> _Statement | None:
    operands = [_given(part, macros) for section in sections[1:3] for part in section if part.strip(" \t\r\n\\")]

    def constant(match: re.Match[str]) -> str:
        if not match["name"]:
            return match[0]
        operands.append(_Operand("n", match["name"]))
        return f'"%{len(operands) - 1}"'

    pieces = _STRINGIZED.sub(constant, _expanded(sections[0][0], macros))
    template, named = _joined(pieces), _joined(_UNKNOWN.sub(lambda m: m["literal"] or f'"{m["name"]}"', pieces))
    if template is None and named is None:
        return None
    return _Statement(template or named or "", tuple(operands), end, is_whole=template is not None)


def _given(text: str, macros: Mapping[str, re.Match[str]]) -> _Operand:
    """An operand; one of a form that is not understood has no expression."""
    text = re.sub(r"\\\r?\n", " ", text).strip()
    name, bracket, rest = text.partition("(")
    if (macro := macros.get(name.strip())) and macro["parameter"] is None:
        text = f"{macro['body'].strip()}{bracket}{rest}"
    match = re.fullmatch(r'"([^"]*)"\s*\((.*)\)', text, re.DOTALL)
    return _Operand(match[1], " ".join(match[2].split())) if match else _Operand("", "")


def _expanded(text: str, macros: Mapping[str, re.Match[str]]) -> str:
    """The parts of a template with those macros that are literals."""

    def literals(match: re.Match[str]) -> str:
        macro = macros.get(match["name"] or "")
        if macro is None or (macro["parameter"] is None) != (match["argument"] is None):
            return match[0]
        argument = f'"{(match["argument"] or "").strip()}"'
        return re.sub(r"#[ \t]*\w+", lambda _: argument, macro["body"])

    return _USE.sub(literals, text) if macros else text


def _joined(text: str) -> str | None:
    """The value of adjacent string literals; None if there is anything else, such as a macro."""
    text = re.sub(r"\\\r?\n", " ", text)
    pieces = re.findall(r'R"(\w*)\((.*?)\)\1"|"((?:[^"\\]|\\.)*)"|(\S)', text, re.DOTALL)
    if not pieces or any(other for *_, other in pieces):
        return None
    return "".join(raw or re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), plain) for _, raw, plain, _ in pieces)
