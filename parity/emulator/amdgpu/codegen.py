"""Translate a kernel to a C++ function that executes one wavefront.

Registers are local variables: an SGPR is a ``u32``, a VGPR a vector with one ``u32`` per lane; EXEC, VCC and SCC are
scalars. Branches become ``goto``. ``instructions`` translates single instructions; this module assembles the function.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence

from parity.compilers.targets import Target
from parity.emulator.amdgpu.control_flow import END
from parity.emulator.amdgpu.instructions import emit_instruction
from parity.emulator.amdgpu.isa import BRANCHES, IGNORED, semantics
from parity.emulator.amdgpu.listing import KernelCode
from parity.emulator.amdgpu.operands import LABEL_ADDRESS, is_vector
from parity.emulator.amdgpu.writer import Writer, sets_overflow_mode
from parity.emulator.faults import UnknownInstruction, UnsupportedFeature
from parity.emulator.instruction import Instruction, MissingFeature, Unknown
from parity.emulator.jit import COUNTERS

_CALLS = ("s_swappc_b64", "s_setpc_b64")


def translate(
    kernel: KernelCode,
    symbol: str,
    target: Target,
    symbols: Mapping[str, int],
    *,
    fast: bool = False,
    counted: bool = False,
) -> str:
    """Return C++ of a function ``symbol(Context *, exec, work-item ids, wave)`` that executes a wavefront of a kernel.

    ``symbols`` are the places of the code object's symbols (``Image.places``). ``fast`` code exists twice: for EXEC of
    all ones (see ``_write_full_copy``) and for any EXEC. ``counted`` code counts how many wavefronts begin each basic
    block, in a global array of ``u64`` with an element for each item (see ``counted_blocks``).

    Raises:
        UnknownInstruction: a mnemonic, operand or modifier is not in the tables.
    """
    w = new_writer(kernel, target, symbols, symbol + COUNTERS if counted else "")
    with located_errors(kernel, w):
        if fast:
            _write_full_copy(w)
        _write_general_copy(w)
    entry = entry_code(kernel, w)
    declared = [
        f"{'V<u32>' if is_vector(register) else 'u32'} {register} = unwritten(c, {i});"
        for i, register in enumerate(sorted(w.registers))
    ]
    text = "\n".join(
        [
            *([f"EXPORTED u64 {w.counters}[{len(w.items)}]; u64 {w.counters}[{len(w.items)}];"] if counted else []),
            f"EXPORTED u32 {symbol}(Context *c, Mask exec, const V<u32> *ids, u32 wave) {{",
            "u32 scc = 0; Mask vcc = 0; i64 left = c->budget; Context *const self = c;",
            *declared,
            *entry,
            *w.lines,
            "}",
        ]
    )
    return w.rendered(text)


def counted_blocks(kernel: KernelCode) -> dict[int, list[Instruction]]:
    """Return the instructions of each basic block, without waits and hints, by the index of its first item."""
    return _blocks(executed_items(kernel))


def coverage_blocks(items: Sequence[Instruction | str]) -> dict[int, bool]:
    """Return the basic blocks of coverage by the index of their first item: whether all instructions are scalar.

    A change of EXEC ends a block, because the following instructions may execute without any lane.
    """
    blocks = _blocks(items, ends=_writes_exec)
    return {at: all(each.mnemonic.startswith("s_") for each in block) for at, block in blocks.items() if block}


def executed_items(kernel: KernelCode) -> list[Instruction | str]:
    """Return the instructions, and the labels that the kernel branches to or calls."""
    targets = {item.operands[0] for item in kernel.instructions if item.mnemonic in BRANCHES}
    targets |= {*kernel.callees, *_jumps(kernel)}
    return [item for item in kernel.items if isinstance(item, Instruction) or item in targets]


def _jumps(kernel: KernelCode) -> list[str]:
    """The labels whose address the kernel computes, for branches that are too long for a branch instruction."""
    matches = (LABEL_ADDRESS.match(operand) for item in kernel.instructions for operand in item.operands[2:])
    return list(dict.fromkeys(match[1] for match in matches if match))


def new_writer(kernel: KernelCode, target: Target, symbols: Mapping[str, int], counters: str = "") -> Writer:
    """Return a writer for the translation of a kernel."""
    items = executed_items(kernel)
    return Writer(
        target,
        items,
        {item: i for i, item in enumerate(items) if isinstance(item, str)},
        {start: len(block) for start, block in _blocks(items).items()},
        symbols,
        kernel.callees,
        _jumps(kernel),
        [i for i, item in enumerate(items) if isinstance(item, Instruction) and item.mnemonic == "s_swappc_b64"],
        counters,
        kernel.descriptor.get("accum_offset") or kernel.descriptor.get("next_free_vgpr") or 256,
        saturates=any(isinstance(item, Instruction) and sets_overflow_mode(item) for item in items),
    )


@contextlib.contextmanager
def located_errors(kernel: KernelCode, w: Writer) -> Iterator[None]:
    """Turn ``MissingFeature`` and ``Unknown`` into errors that name the kernel and the instruction."""
    try:
        yield
    except MissingFeature as feature:
        raise UnsupportedFeature(kernel.name, str(feature), kernel.instructions[w.number]) from None
    except Unknown as unknown:
        raise UnknownInstruction(kernel.name, kernel.instructions[w.number], what=str(unknown)) from None


def _write_general_copy(w: Writer) -> None:
    """Write the copy of the code for any EXEC."""
    w.copy = "some"
    w.put("some_start:;")
    for i in range(len(w.items)):
        _write_item(w, i)
        if _writes_exec(w.items[i]):
            w.put(f"some_{i}:;")
    w.put(END)


def _write_full_copy(w: Writer) -> None:
    """Write the copy for EXEC of all ones. EXEC is a constant there, so the compiler emits no blends.

    When an instruction clears a bit of EXEC, the wavefront continues in the other copy and does not return. This copy
    also skips code that no lane executes.
    """
    w.copy = "full"
    w.put("if (exec != ALL) goto some_start;", "exec = ALL;")
    for i in range(len(w.items)):
        _write_item(w, i)
        if _writes_exec(w.items[i]):
            if path := _path_without_lanes(w, i):
                w.put("if (exec == 0) {")
                for k in path:
                    _write_item(w, k, label=False)
                if _writes_exec(w.items[path[-1]]):
                    w.put(f"if (exec == ALL) goto full_{path[-1]};", f"goto some_{path[-1]};")
                w.put("}")
            w.put(f"if (exec != ALL) goto some_{i};", f"exec = ALL; full_{i}:;")
    w.put(END)


def _path_without_lanes(w: Writer, i: int) -> list[int]:
    """The items that execute if EXEC is zero after item ``i``, up to the next write of EXEC or the end.

    Empty if that path contains other items than scalar instructions and forward branches.
    """
    path: list[int] = []
    k = i + 1
    while k < len(w.items):
        item = w.items[k]
        if isinstance(item, Instruction) and item.mnemonic == "s_cbranch_execz":
            k, last = w.position.get(item.operands[0], 0), k
            if k <= last:
                break
            continue
        path.append(k)
        k += 1
        if isinstance(item, str) or item.mnemonic in IGNORED:
            continue
        if item.mnemonic == "s_endpgm" or _writes_exec(item):
            return path
        if not ((known := semantics(item.mnemonic)) and known.scalar):
            break
    return []


def _writes_exec(item: Instruction | str) -> bool:
    if isinstance(item, str):
        return False
    known = semantics(item.mnemonic)
    return known is not None and (
        "exec" in known.results or item.operands[:1] in (("exec_lo",), ("exec_hi",), ("exec",))
    )


def _write_item(w: Writer, i: int, label: bool = True) -> None:
    w.at, item = i, w.items[i]
    if label and isinstance(item, str):
        w.put(f"{w.label(item)}:;")
    if w.sizes.get(i):
        w.put(f"left -= {w.signed(w.sizes[i])};" + (f" {w.counters}[{i}]++;" if w.counters else ""))
    if isinstance(item, Instruction):
        emit_instruction(w, item)
    if i in w.returns:
        w.put(f"{w.return_label(i)}:;")


def entry_code(kernel: KernelCode, w: Writer) -> list[str]:
    """Return statements that initialize registers as the hardware does before the first instruction.

    Source: LLVM, "User Guide for AMDGPU Backend", initial kernel execution state.
    """
    d, lines, at = kernel.descriptor, [], 0

    def put(register: str, value: str) -> None:
        w.registers.setdefault(register, 0)
        lines.append(f"{w.register(register)} = {value};")

    if d.get("float_denorm_mode_32") == 0:
        lines.append("keep_subnormals(false);")
    zero = w.constant(0)
    # The descriptor of scratch memory swizzles, and adds the number of the lane (runtime/buffers.h).
    swizzles, by_lane = w.constant(1 << 63), w.constant(1 << 55)
    for key, count, value in (
        ("user_sgpr_private_segment_buffer", 2, f"(c->scratch | {swizzles})"),
        ("user_sgpr_private_segment_buffer", 2, by_lane),
        ("user_sgpr_dispatch_ptr", 2, "c->dispatch"),
        ("user_sgpr_queue_ptr", 2, ""),
        ("user_sgpr_kernarg_segment_ptr", 2, "c->kernarg"),
        ("user_sgpr_dispatch_id", 2, zero),
        ("user_sgpr_flat_scratch_init", 2, zero),
        ("user_sgpr_private_segment_size", 1, zero),
    ):
        if d.get(key):
            for i in range(count if value else 0):
                put(f"s{at + i}", f"(u32)({value}{' >> 32' if i else ''})")
            at += count
    at = d.get("user_sgpr_count", at)
    if w.target.group_ids_in_ttmp:  # in ttmp9, and in both halves of ttmp7; the number of the wavefront is in ttmp8
        put("ttmp8", "wave << 25")
        put("ttmp9", "c->group[0]")
        put("ttmp7", "c->group[1] | c->group[2] << 16")
    else:
        for i, axis in enumerate("xyz"):
            if d.get(f"system_sgpr_workgroup_id_{axis}"):
                put(f"s{at}", f"c->group[{i}]")
                at += 1
        if d.get("system_sgpr_private_segment_wavefront_offset"):
            put(f"s{at}", "0")
    axes = d.get("system_vgpr_workitem_id", 0) + 1
    if w.target.packed_ids:
        put("v0", " | ".join(f"ids[{i}] << {10 * i}" for i in range(axes)))
    else:
        for i in range(axes):
            put(f"v{i}", f"ids[{i}]")
    return lines


def _blocks(
    items: Sequence[Instruction | str], ends: Callable[[Instruction], bool] = lambda item: False
) -> dict[int, list[Instruction]]:
    """The instructions of each basic block, which ends at a branch, a call, or where ``ends`` says so."""
    blocks: dict[int, list[Instruction]] = {}
    start, fresh = 0, True
    for i, item in enumerate(items):
        if fresh or isinstance(item, str):
            start = i
            blocks[start] = []
        fresh = isinstance(item, Instruction) and (item.mnemonic in (*BRANCHES, *_CALLS) or ends(item))
        if isinstance(item, Instruction) and item.mnemonic not in IGNORED:
            blocks[start].append(item)
    return blocks
