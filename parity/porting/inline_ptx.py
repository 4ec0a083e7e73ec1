"""Translates inline PTX to C++ by the table ``ptx_to_cpp.csv`` (``ptx_rules.py``).

A statement ``asm("..." : ... : ...)`` is translated if the table has all instructions of its template: registers become
variables, a guard ``@p`` becomes an ``if``. Other instructions, and labels, are refused: the statement becomes a call
that the compiler rejects, so that only the kernels that need the instruction fail.

The carry flag survives between statements, but C++ cannot express it. A statement that sets or reads it uses
``ptx_carry()`` of ``parity/compat/ptx.h``. Assembly for the host or AMD GPUs is kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from parity.compilers.lexing import replaced
from parity.porting.asm_statements import ASM, AsmOperand, AsmStatement, known_macros, parse
from parity.porting.ptx_rules import OPCODES, TYPES, InstructionRule, rules_for

_REGISTERS = {**TYPES, "f16": "unsigned short", "bf16": "unsigned short", "f16x2": "unsigned", "bf16x2": "unsigned"}
"""The C++ type of a register by its declared type."""

_WORDS = {"float": "unsigned", "double": "unsigned long long"}
"""The integer type of the same width as a floating-point type."""

_SHARED = "__attribute__((address_space(3)))"
"""Shared memory, where an address is a 32-bit offset in PTX and on AMD GPUs."""

_INSTRUCTION = re.compile(
    r"(?:@(?P<guard>!?[%$\w]+)\s+)?(?P<opcode>[a-z]\w*(?:\.[\w:]+)*)\s*(?P<operands>.*)", re.DOTALL
)
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_LABEL = re.compile(r"[\w$%]+:(?!:)")
_DECLARED = re.compile(r"\.reg\s*\.(?P<type>\w+)\s+(?P<names>[%$\w<>,\s]+)")
_NUMBERED = re.compile(r"(?P<name>[%$\w]+)<(?P<count>\d+)>")
_PART = re.compile(r"\.([bh])([0-3])$")
"""Matches the selector of a byte or half of an operand of a video instruction."""
_REFERENCE = re.compile(r"%(\d+)")
_INTEGER = re.compile(r"\b0[xX][\da-fA-F]+\b")
_LIST_OF_ONE = re.compile(r"\{([^{},]+)\}")
_FLOAT = re.compile(r"0(?:[fF](?P<float>[\da-fA-F]{8})|[dD](?P<double>[\da-fA-F]{16}))")


@dataclass(frozen=True)
class Untranslated:
    """An instruction that the table does not have, and the index in the text where its statement begins."""

    instruction: str
    at: int


@dataclass(frozen=True)
class _Value:
    """The C++ of a register: an expression, its type if known, and whether it can be assigned."""

    expression: str
    kind: str = ""
    is_place: bool = False


@dataclass(frozen=True)
class _Instruction:
    guard: str
    opcode: str
    operands: str


@dataclass(frozen=True)
class _Program:
    """A template: its declared registers with their C++ types, and its instructions."""

    registers: Mapping[str, str]
    instructions: tuple[_Instruction, ...]


def translate(text: str, is_compiled: Callable[[int], bool], macros: str = "") -> tuple[str, list[Untranslated]]:
    """Translate the inline PTX of a text without moving a line; also return the refused instructions.

    ``is_compiled`` returns whether the preprocessor may keep the code at an index; other code does not change.
    ``macros`` are definitions from other files, see ``macros_of_statements``.
    """
    refused: list[Untranslated] = []
    edits: list[tuple[int, int, str]] = []
    done = 0
    known = known_macros(f"{macros}\n{text}")
    for match in ASM.finditer(text):
        if not match["asm"] or match.start() < done or not is_compiled(match.start()):
            continue
        statement = parse(text, match.end(), known)
        if statement is None or not (name := _ptx(statement.template)):
            continue
        new = _translated(statement) if statement.is_whole else None
        if not isinstance(new, str):
            name = new.opcode if new else name
            refused.append(Untranslated(name, match.start()))
            new = _refusal(name)
        done = statement.end
        ends = re.findall(r"\\?\r?\n", text[match.start() : done])
        edits.append((match.start(), done, "".join((new, *ends))))
    return replaced(text, edits), refused


def _refusal(name: str) -> str:
    function = "parity_refuses_" + re.sub(r"\W", "_", name)
    message = f"inline PTX ({name}) that is not translated; write it in C++ for AMD GPUs"
    declared = f'extern __host__ __device__ void {function}() __attribute__((error("{message}")))'
    return f"do {{ {declared}; {function}(); }} while (0)"


def _ptx(template: str) -> str:
    """Return the first instruction that the table lacks, else the first one; empty if the template is not PTX."""
    names = []
    for part in _parts(template):
        match = _INSTRUCTION.match(_LABEL.sub(" ", part).strip())
        if match and match["opcode"].partition(".")[0] in OPCODES:
            names.append(match["opcode"])
    # x86 has some of these names too, but only for whole instructions without a type.
    if not names or (";" not in template and not any("." in name for name in names)):
        return ""
    return next((name for name in names if not any(rules_for(name))), names[0])


def _parts(template: str) -> Iterator[str]:
    """Generate the instructions between semicolons, without braces of blocks. No instruction begins with a vector."""
    for part in _COMMENTS.sub(" ", template).split(";"):
        if text := part.strip().lstrip("{} \t\r\n"):
            yield text


def _program(template: str) -> _Program | None:
    """Parse a template; None if it contains anything but registers and instructions."""
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
    """Generate the registers of a declaration: ``r<3>`` declares r0, r1 and r2."""
    match = _NUMBERED.fullmatch(name)
    yield from (f"{match['name']}{i}" for i in range(int(match["count"]))) if match else (name,)


def _translated(statement: AsmStatement) -> str | _Instruction | None:
    """Return the C++ statement without its semicolon, or an instruction that cannot be translated."""
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
        # An instruction may read the result of a previous one.
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
        rule, text = line
        uses += rule.carry
        lines.append(text)
    if uses:
        before.append(f"unsigned ptx_cc = {'0' if uses[0] else 'ptx_carry()'};")
        after += ["ptx_carry() = ptx_cc;"] if uses[-1] else []
    return " ".join(["do {", *before, *lines, *after, "} while (0)"])


def _instruction(
    instruction: _Instruction, registers: Mapping[str, _Value], operands: Sequence[AsmOperand]
) -> tuple[InstructionRule, str] | None:
    """Return the rule of an instruction and its C++ statements; None if the table does not have it."""
    given = _REFERENCE.sub(lambda m: _literal(m, operands), instruction.operands)
    given = _INTEGER.sub(lambda m: str(int(m[0], 16)), given)
    plain = _LIST_OF_ONE.sub(r"\1", given)
    guard, negated = instruction.guard.removeprefix("!"), "!" * instruction.guard.startswith("!")
    if guard and getattr(registers.get(guard), "kind", "") != "bool":
        return None
    for rule in rules_for(instruction.opcode):
        found = rule.operands.fullmatch(given) or rule.operands.fullmatch(plain)
        if found and (text := _emit(rule, found.groupdict(), registers)):
            return rule, f"if ({negated}{registers[guard].expression}) {{ {text} }}" if guard else text
    return None


def _emit(rule: InstructionRule, given: Mapping[str, str], registers: Mapping[str, _Value]) -> str | None:
    """Return the statements of a rule for the operands in a template; None if they do not fit."""
    before: list[str] = []
    after: list[str] = []
    for name, written in given.items():
        operand = _operand(written, registers)
        if operand is None:
            return None
        value, offset = operand
        kind = rule.types[name]
        if name in rule.outputs:
            if not value.is_place or _PART.search(written):
                return None
            before.append(f"{kind} ptx_{name};")
            after.append(_assigned(value, _converted(value.kind, _Value(f"ptx_{name}", kind))))
        elif name in rule.addresses:
            before.append(
                f"{kind}* const ptx_{name} = {_pointer(kind, rule.addresses[name], value.expression, offset)};"
            )
        elif offset != "0":
            return None
        elif part := _PART.search(written):  # of a video instruction: extended with zeros or with the sign
            bits = 8 if part[1] == "b" else 16
            word = f"(unsigned)({value.expression}) << {32 - bits - bits * int(part[2])}"
            before.append(f"const {kind} ptx_{name} = ({kind})({word}) >> {32 - bits};")
        else:
            before.append(f"const {kind} ptx_{name} = {_converted(kind, value)};")
    names = "|".join((*rule.types, "cc"))
    statements = re.sub(rf"\b({names})\b", r"ptx_\1", rule.statements)
    body = " ".join([*before, f"{{ {statements}; }}", *after])
    return f"{{ {body} }}" if before else body


def _assigned(to: _Value, value: str) -> str:
    """Return an assignment. An output with the constraint ``l`` may be a pointer."""
    as_it_is = f"(__typeof__({to.expression}))" if to.kind == "unsigned long long" else ""
    return f"({to.expression}) = {as_it_is}{value};"


def _pointer(kind: str, space: str, expression: str, offset: str) -> str:
    if space == "shared":
        return f"({kind}*)({_SHARED} {kind}*)((unsigned)(unsigned long long)({expression}) + {offset}u)"
    return f"({kind}*)((unsigned long long)({expression}) + {offset})"


def _converted(kind: str, value: _Value) -> str:
    """Return the value converted to a type. Between floating point and integers, the bits stay the same."""
    if not kind:
        return value.expression
    if value.kind and _WORDS.get(kind) and value.kind not in _WORDS:
        return f"__builtin_bit_cast({kind}, ({_WORDS[kind]})({value.expression}))"
    if value.kind in _WORDS and kind not in _WORDS:
        return f"({kind})__builtin_bit_cast({_WORDS[value.kind]}, ({value.kind})({value.expression}))"
    return f"({kind})({value.expression})"


def _literal(reference: re.Match[str], operands: Sequence[AsmOperand]) -> str:
    """Return the value of an integer operand, or else the reference itself."""
    place = int(reference[1])
    if place < len(operands) and re.fullmatch(r"\d+|0[xX][\da-fA-F]+", operands[place].expression):
        return operands[place].expression
    return reference[0]


def _operand(written: str, registers: Mapping[str, _Value]) -> tuple[_Value, str] | None:
    """Return the C++ of an operand of a template and the offset added to it; None if it is unknown."""
    name, _, offset = _PART.sub("", written).partition("+")
    if (value := registers.get(name)) and value.expression and re.fullmatch(r"\d*", offset):
        return value, offset or "0"
    if match := _FLOAT.fullmatch(written):
        word = f"0x{match['float']}u" if match["float"] else f"0x{match['double']}ull"
        return _Value(f"__builtin_bit_cast({'float' if match['float'] else 'double'}, {word})"), "0"
    return (_Value(written), "0") if re.fullmatch(r"-?(?:0[xX][\da-fA-F]+|\d+)[uU]?|-?\d+\.\d+", written) else None
