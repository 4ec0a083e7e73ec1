"""Memory instructions as C++. All address spaces are in one range of device memory (``emulator/memory.py``)."""

from __future__ import annotations

import re
from dataclasses import replace

from parity.emulator.amdgpu.isa_names import names
from parity.emulator.amdgpu.operands import (
    read_scalar,
    read_vector,
    register_names,
    registers,
    write_scalar,
    write_vector,
)
from parity.emulator.amdgpu.writer import Writer
from parity.emulator.instruction import Instruction, MissingFeature, Unknown

LOADS, STORES = ({name: meaning.split() for name, meaning in names(kind).items()} for kind in ("load", "store"))
ATOMICS = names("atomic")
_ELEMENTS = names("element")
_CACHE_POLICY = names("cache policy")
_ACCESS = re.compile(r"(s|global|flat|scratch|buffer|ds)_(load|store|atomic)_(\w+)$")
_ATOMIC = re.compile(r"(\w+?)(_rtn)?_([uifb]\d+|bf16|f16)$")
_REFUSED = {"tfe": "buffer accesses with a status (tfe)"}
_COMPONENTS = {"format_x": 1, "format_xy": 2, "format_xyz": 3, "format_xyzw": 4}
_PAIR = re.compile(r"2addr_(stride64_)?b(32|64)$")


def emit_memory_instruction(w: Writer, item: Instruction, name: str) -> bool:
    """Write the C++ of a memory instruction, by its canonical name; return False for other instructions."""
    match = _ACCESS.match(name)
    if not match and name.startswith("ds_"):
        match = re.match(r"(ds)_(())?(\w+)$", name)  # LDS atomics have no "atomic" in their names
    if not match:
        return False
    space, verb, kind = match[1], match[2] or "atomic", match[match.re.groups]
    if refused := next((_REFUSED[modifier] for modifier in item.modifiers if modifier in _REFUSED), None):
        raise MissingFeature(refused)
    if space == "s":
        if verb != "load":
            return False
        _scalar_load(w, item, kind)
    elif pair := _PAIR.match(kind):
        _pair(w, item, verb, int(pair[2]), 64 if pair[1] else 1)
    elif verb == "load" and (kind.startswith("lds_") or "lds" in item.modifiers):
        _load_into_lds(w, item, space, _ELEMENTS.get(kind.removeprefix("lds_"), kind))
    elif verb == "load" and kind in _COMPONENTS:
        _load_format(w, item, _COMPONENTS[kind])
    elif verb == "load":
        _load(w, item, space, kind)
    elif verb == "store":
        _store(w, item, space, kind)
    else:
        _atomic(w, item, space, kind)
    return True


# --- addresses: a scalar base, and the lower and upper halves of each lane's offset ----------------------------------


def memory_modifiers(item: Instruction, known: tuple[str, ...] = ("offset",)) -> dict[str, int]:
    """Return the values of the known modifiers, without cache policies; other modifiers are not allowed."""
    found: dict[str, int] = {}
    for modifier in item.modifiers:
        name, _, value = modifier.partition(":")
        if name in known and value:
            found[name] = int(value, 0)
        elif name in known:
            found[name] = 1
        elif modifier not in _CACHE_POLICY and not modifier.startswith(("th:", "scope:")):
            raise Unknown(f"modifier {modifier} of {item.mnemonic}")
    return found


def _address(w: Writer, item: Instruction, space: str, operands: list[str]) -> str:
    """C++ of an address; removes the address operands from the front of ``operands``."""
    lanes = operands.pop(0)
    if space == "ds":
        offset = memory_modifiers(item).get("offset", 0)
        return _in_lds(w, lanes, offset)
    offset = memory_modifiers(item).get("offset", 0)
    base = operands.pop(0) if operands else None
    if space == "scratch":
        terms = [f"c->scratch + (u64){w.signed(offset)}"]
        terms += [read_scalar(w, base, "i32")] if base not in (None, "off") else []
        return f"{' + '.join(terms)}, {_in_scratch(w, '' if lanes == 'off' else lanes)}, all(0u)"
    if space == "flat":
        lo, hi = registers(w, lanes)
        return f"(u64){w.signed(offset)}, flat_lo(c, wave, {lo}, {hi}), flat_hi(c, wave, {lo}, {hi})"
    if base is None or base == "off":
        lo, hi = registers(w, lanes)
        return f"(u64){w.signed(offset)}, V<u32>({lo}), V<u32>({hi})"  # copies, because the runtime takes references
    return f"{read_scalar(w, base, 'u64')} + (u64){w.signed(offset)}, {_copy(read_vector(w, lanes, 'u32'))}, all(0u)"


def _buffer_operands(w: Writer, item: Instruction, operands: list[str], size: int, count: int) -> str:
    """Write the begin of a buffer access; removes the operands of the address.

    Returns C++ of the arguments of the access, which has ``count`` elements of ``size`` bytes.
    """
    lanes, words, offset = (operands.pop(0) for _ in range(3))
    given = memory_modifiers(item, ("offset", "offen", "idxen"))
    names = [*registers(w, lanes)] if lanes != "off" else []
    index = names.pop(0) if "idxen" in given else "all(0u)"
    own = f" + {names.pop(0)}" if "offen" in given else ""
    if names or len(resource := registers(w, words)) != 4:
        raise Unknown(f"operands of {item.mnemonic}")
    form = f"{{{w.target.generation}, {int('idxen' in given)}, {size}, {count}}}"
    w.put("{", f"constexpr BufferForm form = {form};")
    w.put(f"const u32 resource[] = {{{', '.join(resource)}}};")
    w.put(f"const V<u32> index = {index}, offset = all((u32){w.constant(given.get('offset', 0))}){own};")
    return f"c, exec, wave, resource, index, offset, {read_scalar(w, offset, 'u32')}, form, {w.here}"


def _buffer_access(w: Writer, item: Instruction, operands: list[str], size: int, count: int = 1) -> str:
    """Write the begin of a buffer access, whose addresses are in ``b``, and return C++ of the addresses.

    It has ``count`` elements of ``size`` bytes. Removes the operands of the address.
    """
    call = _buffer_operands(w, item, operands, size, count)
    w.put("BufferAccess b;", f"if (buffer_access({call}, &b)) return 1;")
    return "0ul, lo32(b.at), hi32(b.at)"


def _in_scratch(w: Writer, lanes: str) -> str:
    own = "(wave * LANES + IOTA) * c->scratch_stride"
    return _copy(f"{own} + {read_vector(w, lanes, 'u32')}" if lanes else own)


def _in_lds(w: Writer, lanes: str, offset: int) -> str:
    address = f"{read_vector(w, lanes, 'u32')} + (u32){w.constant(offset)}"  # wraps at 32 bits
    return f"c->lds, {_copy(address)}, all(0u)"


def _copy(value: str) -> str:
    return f"V<u32>({value})"


# --- loads and stores ------------------------------------------------------------------------------------------------


def _scalar_load(w: Writer, item: Instruction, kind: str) -> None:
    target, base, *offsets = item.operands
    words = {"b32": 1, "b64": 2, "b96": 3, "b128": 4, "b256": 8, "b512": 16}.get(kind)
    if words is None and kind not in ("u8", "i8", "u16", "i16"):
        raise Unknown(f"instruction {item.mnemonic}")
    terms = [read_scalar(w, base, "u64")]
    for offset in offsets:
        if offset != "null":
            literal = offset.lstrip("-")[:1].isdigit()
            terms.append(f"(i64){read_scalar(w, offset, 'i32' if literal else 'u32')}")
    terms.append(w.signed(memory_modifiers(item).get("offset", 0)))
    if words is None:
        bits = int(kind[1:])
        value = f"(u32)((i32)(x << {32 - bits}) >> {32 - bits})" if kind[0] == "i" else "x"
        w.put(f"{{ u32 x; if (scalar_load_part(c, {' + '.join(terms)}, {bits // 8}, {w.here}, &x)) return 1;")
        w.put(*write_scalar(w, target, "u32", value), "}")
        return
    names = _counted(w, item, target, words)
    w.put(f"{{ u32 x[{words}]; if (scalar_load<{words}>(c, {' + '.join(terms)}, {w.here}, x)) return 1;")
    if item.align > 1:
        w.put(f"if (misaligned_scalar(c, {' + '.join(terms)}, {item.align - 1}u, {w.here})) return 1;")
    if words == 1:
        w.put(*write_scalar(w, target, "u32", "x[0]"), "}")
    elif words == 2:
        w.put(*write_scalar(w, target, "u64", "pair(x[0], x[1])"), "}")
    else:
        w.put(" ".join(f"{name} = x[{i}];" for i, name in enumerate(names)) + " }")


def _load(w: Writer, item: Instruction, space: str, kind: str) -> None:
    kind, _, transposed = kind.partition("_tr_b")
    if kind not in LOADS:
        raise Unknown(f"instruction {item.mnemonic}")
    element, into = LOADS[kind]
    target, *rest = item.operands
    target, _, half = target.partition(".")
    words, width = _size(element)
    names = _counted(w, item, target, words)
    number = f"(u32)({w.here} | COHERENT)" if is_coherent(item) else w.here
    if space == "buffer":
        address = _buffer_access(w, item, rest, width // words, words)
        load = f"V<u32> x[{words}]; if (buffer_load(c, b, form, {number}, x)) return 1;"
    else:
        address = _address(w, item, space, rest)
        w.put("{")
        load = f"V<u32> x[{words}]; if (gather(c, exec, {address}, {width}, {number}, x)) return 1;"
        if words <= 2:
            bits = f"u{8 * width}"
            load = f"V<{bits}> y; if (load_{bits}(c, exec, {address}, {number}, &y)) return 1;"
            load += f" const V<u32> x[] = {{{'lo32(y), hi32(y)' if words == 2 else 'to<u32>(y)'}}};"
    if item.array == "":
        w.put(f"mark_written(c, exec, {address}, {width}u);")
    w.put(load, *_alignment(w, item, address))
    if transposed:
        w.put(f"V<u32> column[] = {{x[0], x[1]}}; transpose({transposed}, column);")
    values = [f"{'column' if transposed else 'x'}[{i}]" for i in range(words)]
    if width < 4:
        part = f"as<{element}>(to<u{8 * width}>(x[0]))"
        values = [f"as<u32>(to<{element[0]}32>({part}))"]
        if into in ("lo", "hi"):
            put = "put_hi" if into == "hi" or half == "h" else "put_lo"
            # With error correction of registers (gfx90a, gfx942), the other half becomes 0. Source: LLVM, GCNSubtarget,
            # d16PreservesUnusedBits.
            old = "all(0u)" if w.target.generation == 9 else names[0]
            values = [f"{put}({old}, as<u16>(to<{element[0]}16>({part})))"]
    w.put(*(f"{n} = sel(unmask(exec), {value}, {n});" for n, value in zip(names, values, strict=True)), "}")


def _load_format(w: Writer, item: Instruction, count: int) -> None:
    """Load components in the format of the buffer, each into a register."""
    target, *rest = item.operands
    names = _counted(w, item, target, count)
    call = _buffer_operands(w, item, rest, 0, count)
    w.put(f"V<u32> x[{count}]; if (buffer_load_format({call}, x)) return 1;")
    w.put(*(f"{name} = sel(unmask(exec), x[{i}], {name});" for i, name in enumerate(names)), "}")


def _load_into_lds(w: Writer, item: Instruction, space: str, kind: str) -> None:
    """Copy to LDS at M0, to separate addresses for each lane (CDNA3 ISA, "Memory Buffer Load to LDS")."""
    if kind not in LOADS or (element := LOADS[kind][0])[0] not in "ux" or kind == "b64":
        raise Unknown(f"instruction {item.mnemonic}")
    words, width = _size(element)
    item = replace(item, modifiers=tuple(each for each in item.modifiers if each != "lds"))
    rest = list(item.operands)
    if space == "buffer":
        _buffer_access(w, item, rest, width // words, words)
        load = f"buffer_load(c, b, form, {w.here}, x)"
    else:
        w.put("{")
        load = f"gather(c, exec, {_address(w, item, space, rest)}, {width}, {w.here}, x)"
    offset = memory_modifiers(item, ("offset", "offen", "idxen")).get("offset", 0)
    each = max(width, 4)
    lanes = _copy(f"{read_scalar(w, 'm0', 'u32')} + (u32){w.constant(offset)} + IOTA * {each}u")
    w.put(f"V<u32> x[{words}]; if ({load}) return 1;")
    w.put(f"if (scatter(c, exec, c->lds, {lanes}, all(0u), {each}, {w.here}, x)) return 1;", "}")


def _counted(w: Writer, item: Instruction, operand: str, words: int) -> tuple[str, ...]:
    """The registers of an operand, whose number must be the number of words."""
    names = registers(w, operand)
    if len(names) != words:
        raise Unknown(f"{len(names)} registers for {item.mnemonic}")
    return names


def _size(element: str) -> tuple[int, int]:
    """The number of registers and of bytes of an element of memory."""
    width = {"x3": 12, "x4": 16}.get(element) or int(element[1:]) // 8
    return max(width // 4, 1), width


def _alignment(w: Writer, item: Instruction, address: str) -> list[str]:
    """The check of the alignment that the source's type requires. It follows the access, which checks the bounds."""
    lanes = "b.live[0]" if item.mnemonic.startswith("buffer_") else "exec"
    check = f"if (misaligned(c, {lanes}, {address}, {item.align - 1}u, {w.here})) return 1;"
    return [check] if item.align > 1 else []


def is_coherent(item: Instruction) -> bool:
    """True for a load that sees writes of other wavefronts: a relaxed atomic or volatile load.

    Source: LLVM, "User Guide for AMDGPU Backend", "Memory Model". A non-temporal load may have the same bits.
    """
    policy = {*item.modifiers}
    return bool(policy & {"sc1", "scope:SCOPE_DEV", "scope:SCOPE_SYS"}) or ("glc" in policy and "slc" not in policy)


def _store(w: Writer, item: Instruction, space: str, kind: str) -> None:
    if kind not in STORES:
        raise Unknown(f"instruction {item.mnemonic}")
    element, shift = STORES[kind]
    operands = list(item.operands)
    data, _, half = operands.pop(0 if space == "buffer" else 1).partition(".")
    words, width = _size(element)
    names, high = _counted(w, item, data, words), 16 if half == "h" else shift
    if space == "buffer":
        address = _buffer_access(w, item, operands, width // words, words)
        store = f"buffer_store(c, b, form, {w.here}, x)"
    else:
        address = _address(w, item, space, operands)
        w.put("{")
        store = f"scatter(c, exec, {address}, {width}, {w.here}, x)"
        if words <= 2:
            value = "join(x[0], x[1])" if words == 2 else f"to<{element}>(x[0])"
            store = f"store_{element}(c, exec, {address}, {w.here}, {value})"
    w.put(f"const V<u32> x[] = {{{', '.join(f'{name} >> {high}' if high else name for name in names)}}};")
    w.put(f"if ({store}) return 1;", *_alignment(w, item, address), "}")


def _pair(w: Writer, item: Instruction, verb: str, bits: int, step: int) -> None:
    """Access two elements of LDS; the unit of their offsets is an element, or 64 elements."""
    given = memory_modifiers(item, ("offset0", "offset1"))
    kind, size = f"u{bits}", bits // 8 * step
    operands = list(item.operands)
    lanes = operands.pop(1 if verb == "load" else 0)
    w.put("{")
    for i in range(2):
        offset = given.get(f"offset{i}", 0) * size
        at = _in_lds(w, lanes, offset)
        if verb == "load":
            w.put(f"V<{kind}> x{i}; if (load_{kind}(c, exec, {at}, {w.here}, &x{i})) return 1;")
        else:
            value = read_vector(w, operands[i], kind)
            w.put(f"if (store_{kind}(c, exec, {at}, {w.here}, V<{kind}>({value}))) return 1;")
    if verb == "load":
        names = registers(w, operands[0])
        words = [f"{part}(x{i})" for i in range(2) for part in ("lo32", "hi32")] if bits == 64 else ["x0", "x1"]
        w.put(*(f"{n} = sel(unmask(exec), {x}, {n});" for n, x in zip(names, words, strict=True)))
    w.put("}")


# --- atomics ---------------------------------------------------------------------------------------------------------


def _atomic(w: Writer, item: Instruction, space: str, kind: str) -> None:
    match = _ATOMIC.match(kind)
    if not match or match[1] not in ATOMICS:
        raise Unknown(f"instruction {item.mnemonic}")
    operation, returning, element = match.groups()
    packed = operation.startswith("pk_")
    kind = {"f16": "PackedF16", "bf16": "PackedBf16"}[element] if packed else element.replace("b", "u")
    bits = 32 if packed else int(element.lstrip("uifb"))
    compares, buffer = operation.startswith("cmp"), space == "buffer"
    operands = list(item.operands)
    if space == "ds":
        target = operands.pop(0) if returning else ""
        lanes, data = [operands.pop(0)], operands
    else:
        returns = "glc" in item.modifiers or "sc0" in item.modifiers or "th:TH_ATOMIC_RETURN" in item.modifiers
        target = operands.pop(0) if returns and not buffer else ""
        data, lanes = [operands.pop(0 if buffer else 1)], operands
    if buffer:
        address, live = _buffer_access(w, item, lanes, bits // 8), "b.live[0]"
        if returns:  # the old value replaces the data
            target = data[0] if not compares else _first(w, data[0], bits // 32)
    else:
        address, live = _address(w, item, space, lanes), "exec"
        w.put("{")
    unit = f"u{bits}"
    if compares and space != "ds":  # the new value, then the value to compare with
        names = registers(w, data[0])
        wide = len(names) == 4
        values = [f"join({names[i]}, {names[i + 1]})" for i in (0, 2)] if wide else [names[0], names[1]]
    else:
        values = [read_vector(w, each, unit) for each in data]
        if operation == "cmpst":  # generations 9 and 10: the value to compare with comes first
            values.reverse()
    expression = ATOMICS[operation]
    body = f"[](Atom<{kind}> old, Atom<{kind}> x, Atom<{kind}> cmp) -> Atom<{kind}> {{ return {expression}; }}"
    given = f"V<{unit}>({values[0]}), V<{unit}>({values[1] if compares else values[0]})"
    w.put(f"V<{unit}> old{f' = all<{unit}>(0)' * buffer};")
    call = f"atomic<{kind}, {'true' if compares else 'false'}>"
    w.put(f"if ({call}(c, {live}, {address}, {w.here}, {given}, &old, {body})) return 1;")
    if target:
        w.put(*write_vector(w, target, unit, "old"))
    w.put("}")


def _first(w: Writer, operand: str, count: int) -> str:
    """The first registers of an operand, as an operand."""
    names = register_names(w, operand)
    number = int(names[0][1:])
    return names[0] if count == 1 else f"{names[0][0]}[{number}:{number + count - 1}]"
