"""C++ that reads operands with their modifiers, and that writes results under the EXEC mask."""

from __future__ import annotations

import functools
import re
import struct
from collections.abc import Callable, Iterator, Sequence

from parity.emulator.amdgpu import dpp, sdwa
from parity.emulator.amdgpu.isa import Semantics
from parity.emulator.amdgpu.writer import Writer
from parity.emulator.instruction import Instruction, Unknown

SPECIAL = (
    "m0", "vcc_hi", "exec_hi", "flat_scratch_lo", "flat_scratch_hi", "xnack_mask_lo", "xnack_mask_hi",
)  # fmt: skip
"""Registers with a name instead of a number, except the lower halves of masks."""

_REGISTER = re.compile(r"([sva]|ttmp)(\d+)(?:\.([lh]))?$|([sva]|ttmp)\[(\d+):(\d+)\]$")
_PAIRS = frozenset(("vcc", "exec", "flat_scratch", "xnack_mask"))
_MASKS = ("exec", "vcc")
# The upper halves of generic pointers into LDS and scratch memory (runtime/memory.h, flat_address).
_APERTURES = {"src_shared_base": "SHARED", "src_private_base": "PRIVATE"}
_FLOAT_FORMAT = {16: "<e", 32: "<f", 64: "<d"}
_ONE_OVER_TWO_PI = {16: 0x3118, 32: 0x3E22F983, 64: 0x3FC45F306DC9C882}
_OMOD = {"mul:2": "2", "mul:4": "4", "div:2": "0.5"}
_WIDTH = re.compile(r"(\d+)")
_INTEGER = re.compile(r"-?(?:0x[0-9a-fA-F]+|\d+)$")
# With the clamp bit, integer results saturate.
_SATURATED = {
    "a + b": "__builtin_elementwise_add_sat(a, b)",
    "a - b": "__builtin_elementwise_sub_sat(a, b)",
    "b - a": "__builtin_elementwise_sub_sat(b, a)",
}
# s_getpc_b64 returns 0 here, so a distance to a symbol is its address. ``listing`` has already removed the distance of
# the instruction from the offsets. The address of a label is its index.
_SYMBOL = re.compile(r"([\w.$]+)@(gotpc)?rel32@(lo|hi)([+-]\d+)?$")
LABEL_ADDRESS = re.compile(r"\(([\w.$]+)-\.Lpost_getpc\d+\)(&4294967295|>>32)$")


def registers(w: Writer, operand: str) -> tuple[str, ...]:
    """Return C++ of the registers that an operand names, lowest first."""
    return tuple(map(w.register, register_names(w, operand)))


def register_names(w: Writer, operand: str) -> tuple[str, ...]:
    """Return the names of an operand's registers, lowest first, and declare these registers."""
    names = _names(operand)
    for name in names:
        if not _mask_of(w, name):
            w.registers.setdefault(name, w.at)
    return names


@functools.cache
def _names(operand: str) -> tuple[str, ...]:
    if match := _REGISTER.match(operand):
        file, first, last = match[1] or match[4], int(match[2] or match[5]), int(match[2] or match[6])
        return tuple(f"{file}{i}" for i in range(first, last + 1))
    if operand in _PAIRS:
        return f"{operand}_lo", f"{operand}_hi"
    if operand in ("vcc_lo", "exec_lo") or operand in SPECIAL:
        return (operand,)
    raise Unknown(f"operand {operand!r}")


def is_vector(operand: str) -> bool:
    """True for the name of a register with one value per lane."""
    return re.match(r"[va][\d\[]", operand) is not None


def _mask_of(w: Writer, name: str) -> str:
    """``exec`` or ``vcc`` if the register is a half of it; with 32 lanes, only the lower half is."""
    base, _, half = name.rpartition("_")
    return base if base in _MASKS and (half == "lo" or w.target.wavefront == 64) else ""


def _word(w: Writer, name: str) -> str:
    """C++ that reads a 32-bit scalar register."""
    if name == "exec_hi" and w.target.wavefront == 32:
        return "0u"  # clang's 64-bit __ballot(1) relies on it
    base = _mask_of(w, name)
    return f"(u32)({base}{' >> 32' if name.endswith('_hi') else ''})" if base else w.register(name)


def _put_word(w: Writer, name: str, value: str) -> str:
    base = _mask_of(w, name)
    if not base:
        return f"{w.register(name)} = {value};"
    if w.target.wavefront == 32:
        return f"{base} = {value};"
    return f"{base} = {f'pair({value}, {base} >> 32)' if name.endswith('_lo') else f'pair({base}, {value})'};"


@functools.lru_cache(maxsize=1024)
def _constant(operand: str, kind: str) -> int | None:
    """The bits of an inline constant or literal as an operand of this type; ``None`` for other operands."""
    width = int(_WIDTH.search(kind)[1])  # type: ignore[index]
    ones = (1 << width) - 1
    try:
        value = int(operand, 0)
    except ValueError:
        pass
    else:
        if kind == "f64" and "0x" in operand and value < 1 << 32:
            return value << 32  # a 32-bit literal is the high word
        if kind == "i64" and "0x" in operand and value >> 31 == 1:
            value -= 1 << 32
        return value & ones
    if operand.startswith("0.15915") or operand == "0.1592":
        return _ONE_OVER_TWO_PI[width]
    try:
        return int.from_bytes(struct.pack(_FLOAT_FORMAT[width], float(operand)), "little")
    except ValueError:
        return None


def read_scalar(w: Writer, operand: str, kind: str) -> str:
    """Return C++ of the scalar type ``kind``; ``mask`` is an integer with one bit per lane."""
    if kind == "mask":
        kind = f"u{w.target.wavefront}"
    if kind in ("k16", "uk16"):
        value = int(operand, 0) & 0xFFFF
        return w.signed(value - (1 << 16) if kind == "k16" and value >> 15 else value)
    if (bits := _constant(operand, kind)) is not None:
        return f"({kind}){w.constant(bits, '#x')}"
    if operand in ("scc", "src_scc"):
        return "scc"
    if operand == "null":
        return f"({kind})0"
    if operand in _APERTURES:
        return f"({kind}){'pair(0, ' + _APERTURES[operand] + ')' if kind.endswith('64') else '0'}"
    if match := _SYMBOL.match(operand):
        address = w.symbol(f"{match[1]}@got") if match[2] else w.symbol(match[1], int(match[4] or 0))
        return f"({kind})({address}{' >> 32' if match[3] == 'hi' else ''})"
    if match := LABEL_ADDRESS.match(operand):
        return f"({kind}){w.constant(0 if match[2] == '>>32' else w.position[match[1]])}"
    if is_vector(operand):
        raise Unknown(f"vector register {operand} as a scalar operand")
    names = register_names(w, operand)
    if not kind.endswith("64"):
        return f"({kind}){_word(w, names[0])}"
    if len(names) == 1 and names[0][0] == "s":  # a pair that is named by its first register
        names = register_names(w, f"s[{names[0][1:]}:{int(names[0][1:]) + 1}]")
    if len(names) != 2:
        raise Unknown(f"operand {operand!r} of 64 bits")
    if operand in _MASKS and w.target.wavefront == 64:
        return f"({kind}){operand}"
    return f"({kind})pair({_word(w, names[0])}, {_word(w, names[1])})"


def read_vector(
    w: Writer, operand: str, kind: str, half: int = 0, part: Callable[[str, bool], str] | None = None
) -> str:
    """Return C++ of type ``V<kind>`` (``B`` for a mask), with source modifiers.

    ``half`` selects the upper 16 bits for a 16-bit type; for ``mix``, -1 selects an f32. ``part`` extracts a part of a
    register's 32 bits, with or without sign extension (SDWA).
    """
    if kind == "mask":
        return f"unmask({read_scalar(w, operand, 'mask')})"
    if operand.startswith("neg("):  # newer LLVMs write neg(0) where -0 would be ambiguous
        operand = f"-({operand[4:-1]})"
    negate = operand.startswith("-") and not operand[1:2].isdigit()
    inner = operand[1:].strip("()") if negate else operand
    extend = inner.startswith("sext(")
    inner = inner[5:-1] if extend else inner
    magnitude = inner.startswith("|")
    inner = inner.strip("|")
    if (magnitude or negate) and kind[0] not in "fm":
        raise Unknown(f"sign modifier of {operand!r} on an operand of type {kind}")
    kind, mixed = ("f32", half >= 0) if kind == "mix" else (kind, False)
    if mixed:
        value = f"wide({_bits(w, inner, 'f16', half)})"
    else:
        kind = kind.removesuffix("hi")
        if part:
            value = part(_bits(w, inner, "u32", 0), extend)
            value = f"lo16({value})" if kind.endswith("16") else value
        else:
            value = _bits(w, inner, kind, max(half, 0))
        value = value if kind[0] == "u" else f"as<{kind}>({value})"
    value = f"mag({value})" if magnitude else value
    return f"neg({value})" if negate else value


def _bits(w: Writer, operand: str, kind: str, half: int) -> str:
    """C++ of the raw bits of an operand, of the unsigned type with the width of ``kind``."""
    bits, kind = _constant(operand, kind), "u" + kind[1:]
    if bits is not None:
        if kind == "u16" and half:  # integers are sign-extended to 32 bits; floats are only in the lower half
            bits = int(operand, 0) >> 16 & 0xFFFF if _INTEGER.match(operand) else 0
        return f"all<{kind}>({w.constant(bits, '#x')})"
    name, _, part = operand.partition(".")
    if not is_vector(operand):
        if kind == "u16" and half:
            return f"all<u16>((u16)({read_scalar(w, operand, 'u32')} >> 16))"
        return f"all<{kind}>({read_scalar(w, operand, kind)})"
    names = registers(w, name)
    if kind == "u64":
        if len(names) != 2:
            raise Unknown(f"operand {operand!r} of 64 bits")
        return f"join({names[0]}, {names[1]})"
    if len(names) != 1:
        raise Unknown(f"operand {operand!r} of {kind[1:]} bits")
    narrow = f"{'hi' if part == 'h' or (not part and half) else 'lo'}16({names[0]})"
    if kind == "u16":
        return narrow
    return f"to<u32>({narrow})" if part else names[0]


def write_vector(w: Writer, target: str, kind: str, expression: str, high: int = 0) -> Iterator[str]:
    """Yield statements that write a lane vector under the EXEC mask."""
    if target == "null":
        return
    if kind in ("mask", "exec"):
        yield from write_scalar(w, target, "mask", f"mask(bools({expression})) & exec")
        return
    if kind == "lane0":
        yield from write_scalar(w, target, "u32", f"({expression})[first(exec)]")
        return
    name, _, part = target.partition(".")
    names = registers(w, name)
    live = "unmask(exec)"
    if kind.endswith("64"):
        if len(names) != 2:
            raise Unknown(f"result {target!r} of 64 bits")
        lo, hi = names
        yield f"const V<u64> r = as<u64>((V<{kind}>)({expression}));"
        yield f"{lo} = sel({live}, lo32(r), {lo}); {hi} = sel({live}, hi32(r), {hi});"
        return
    if len(names) != 1:
        raise Unknown(f"result {target!r} of {16 if '16' in kind else 32} bits")
    (register,) = names
    if "16" in kind:
        put = "put_hi" if part == "h" or kind == "f16hi" or high else "put_lo"
        base = kind.removesuffix("hi")
        value = f"as<u16>((V<{base}>)({expression}))"
        # Generation 9 clears the upper half of a 16-bit result's register (Vega ISA, "16-bit instructions").
        clears = w.target.generation == 9 and put == "put_lo" and not part and base == kind and not w.keeps_high
        value = f"to<u32>({value})" if clears else f"{put}({register}, {value})"
        yield f"{register} = sel({live}, {value}, {register});"
    else:
        yield f"{register} = sel({live}, as<u32>((V<{kind}>)({expression})), {register});"


def write_scalar(w: Writer, target: str, kind: str, expression: str) -> Iterator[str]:
    """Yield statements that write a scalar register, or two registers for a 64-bit type."""
    if target == "null":
        return
    if kind == "mask":
        kind = f"u{w.target.wavefront}"
    if kind.endswith("64") and target in _MASKS and w.target.wavefront == 64:
        yield f"{target} = {expression};"
        return
    names = register_names(w, target)
    if len(names) != (2 if kind.endswith("64") else 1):
        raise Unknown(f"result {target!r} of {kind[1:]} bits")
    if len(names) == 2:
        halves = (f"(u32)({expression})", f"(u64)({expression}) >> 32")
        yield f"{{ const u32 lo = {halves[0]}, hi = {halves[1]};"
        yield f"{_put_word(w, names[0], 'lo')} {_put_word(w, names[1], 'hi')} }}"
    else:
        yield _put_word(w, names[0], expression)


def parse_modifiers(item: Instruction, lists: Sequence[str]) -> tuple[dict[str, list[int]], str, str]:
    """Return the bit lists of the allowed modifiers, clamp, and the output multiplier; skips DPP and SDWA modifiers.

    Raises:
        Unknown: a modifier is not allowed.
    """
    found: dict[str, list[int]] = {}
    clamp = omod = ""
    for modifier in item.modifiers:
        name, _, value = modifier.partition(":")
        if name in lists:
            found[name] = [int(x, 0) for x in value.strip("[]").split(",")]
        elif modifier == "clamp":
            clamp = modifier
        elif modifier in _OMOD:
            omod = modifier
        elif name in dpp.MODIFIERS or name in sdwa.MODIFIERS:
            continue
        else:
            raise Unknown(f"modifier {modifier} of {item.mnemonic}")
    return found, clamp, omod


def with_output_modifiers(expression: str, kind: str, clamp: str, omod: str) -> str:
    """Return the C++ of a result of type ``kind`` with output modifiers.

    Raises:
        Unknown: the saturated form of an integer operation is not known, or an integer has an output multiplier.
    """
    if not clamp and not omod:
        return expression
    base = kind.removesuffix("hi")
    if kind[0] in "iu" and not omod and expression in _SATURATED:
        return _SATURATED[expression]
    if kind[0] != "f":
        raise Unknown(f"modifier {clamp or omod} on {expression!r} of type {kind}")
    scaled = f"(V<{base}>)({expression}) * ({base}){_OMOD[omod]}" if omod else f"(V<{base}>)({expression})"
    return f"clamp01<{base}>({scaled})" if clamp else scaled


def list_element(lists: dict[str, list[int]], name: str, i: int, default: int) -> int:
    """Return element ``i`` of a bit list, or the default if the modifier is missing."""
    values = lists.get(name)
    return values[i] if values and i < len(values) else default


def reject_modifiers(item: Instruction) -> None:
    """Raise ``Unknown`` if an instruction has modifiers."""
    if item.modifiers:
        raise Unknown(f"modifier {item.modifiers[0]} of {item.mnemonic}")


def check_operand_count(operands: Sequence[str], known: Semantics) -> None:
    """Raise ``Unknown`` if the number of operands differs from the table."""
    if len(operands) != len(known.sources):
        raise Unknown(f"number of source operands, {len(operands)} instead of {len(known.sources)}")


def scalar_type(kind: str) -> str:
    """Return the C++ type of a scalar operand."""
    return {"k16": "i32", "uk16": "u32", "mask": "Mask"}.get(kind, kind)
