"""From the instructions of one kernel to a C++ function that executes one wavefront.

Registers are local variables: an SGPR a ``u32``, a VGPR a vector of one ``u32`` per lane, EXEC, VCC and SCC scalars.
Branches become ``goto``. The code is there twice: once for EXEC of all ones, see ``_full``, and once for any EXEC.
What one instruction becomes is said in ``instructions``; here the whole is put together.
"""

from __future__ import annotations

from collections.abc import Sequence

from parity.emulator.faults import UnknownInstruction
from parity.emulator.instructions import END, emit
from parity.emulator.isa import BRANCHES, IGNORED, semantics
from parity.emulator.parse import Function, Instruction
from parity.emulator.writer import Unknown, Writer

__all__ = ["translate"]


def translate(function: Function, symbol: str) -> str:
    """C++ of a function ``symbol(Context *, exec, work-item ids)`` that executes one wavefront of the kernel.

    Raises:
        UnknownInstruction: a mnemonic, operand or modifier is not in the tables.
    """
    targets = {item.operands[0] for item in function.instructions if item.mnemonic in BRANCHES}
    items = [item for item in function.items if isinstance(item, Instruction) or item in targets]
    w = Writer(items, {item: i for i, item in enumerate(items) if isinstance(item, str)}, _block_sizes(items))
    try:
        _full(w)
        _general(w)
    except Unknown as unknown:
        raise UnknownInstruction(str(unknown), function.name, function.instructions[w.number]) from None
    head, entry = _entry(function, w)
    declared = [f"u32 {r} = 0xbaadf00du;" for r in sorted(w.registers) if r[0] != "v" or r.startswith("vcc")]
    declared += [f"V<u32> {r} = 0xbaadf00du;" for r in sorted(w.registers) if r[0] == "v" and not r.startswith("vcc")]
    return "\n".join(
        [
            f"{head} u32 {symbol}(Context *c, u32 exec_lo, In<u32> ids) {{",
            "u32 scc = 0, exec_hi = 0; i64 left = c->budget;",
            *declared,
            *entry,
            *w.lines,
            "}",
        ]
    )


def _general(w: Writer) -> None:
    """The copy of the code for any EXEC."""
    w.copy = "some"
    w.put("some_start:;")
    for i in range(len(w.items)):
        _item(w, i)
        if _writes_exec(w.items[i]):
            w.put(f"some_{i}:;")
    w.put(END)


def _full(w: Writer) -> None:
    """The copy for EXEC of all ones, a constant to the compiler: no blends, and no register kept for masked lanes.

    It is left for good when an instruction clears a bit of EXEC; but what no lane executes is skipped here, too.
    """
    w.copy = "full"
    w.put("if (exec_lo != ~0u) goto some_start;", "exec_lo = ~0u;")
    for i in range(len(w.items)):
        _item(w, i)
        if _writes_exec(w.items[i]):
            if path := _skipped(w, i):
                w.put("if (exec_lo == 0) {")
                for k in path:
                    _item(w, k, label=False)
                if _writes_exec(w.items[path[-1]]):
                    w.put(f"if (exec_lo == ~0u) goto full_{path[-1]};", f"goto some_{path[-1]};")
                w.put("}")
            w.put(f"if (exec_lo != ~0u) goto some_{i};", f"exec_lo = ~0u; full_{i}:;")
    w.put(END)


def _skipped(w: Writer, i: int) -> list[int]:
    """The items that an EXEC of zero after item ``i`` leads through, down to the next write of EXEC or the end.

    Empty if anything but scalar instructions and forward branches lies on that path.
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
    return known is not None and ("exec" in known.results or item.operands[0] in ("exec_lo", "exec"))


def _item(w: Writer, i: int, label: bool = True) -> None:
    w.at, item = i, w.items[i]
    if label and isinstance(item, str):
        w.put(f"{w.label(item)}:;")
    if w.sizes.get(i):
        w.put(f"left -= {w.sizes[i]};")
    if isinstance(item, Instruction):
        emit(w, item)


def _entry(function: Function, w: Writer) -> tuple[str, list[str]]:
    """What the hardware puts into registers before the first instruction: LLVM AMDGPU usage, initial kernel state."""
    d, lines, at = function.descriptor, [], 0
    for key, count, value in (
        ("user_sgpr_private_segment_buffer", 4, ""),
        ("user_sgpr_dispatch_ptr", 2, "c->dispatch"),
        ("user_sgpr_queue_ptr", 2, ""),
        ("user_sgpr_kernarg_segment_ptr", 2, "c->kernarg"),
    ):
        if d.get(key):
            if value:
                w.registers |= {f"s{at}", f"s{at + 1}"}
                lines.append(f"s{at} = (u32){value}; s{at + 1} = {value} >> 32;")
            at += count
    at = d.get("user_sgpr_count", at)
    for i, axis in enumerate("xyz"):
        if d.get(f"system_sgpr_workgroup_id_{axis}"):
            w.registers.add(f"s{at}")
            lines.append(f"s{at} = c->group[{i}];")
            at += 1
    w.registers.add("v0")
    ids = ("0x3ffu", "0xfffffu", "0x3fffffffu")[d.get("system_vgpr_workitem_id", 0)]
    lines.append(f"v0 = ids & {ids};")
    return 'extern "C" __attribute__((visibility("default")))', lines


def _block_sizes(items: Sequence[Instruction | str]) -> dict[int, int]:
    """For the first item of every basic block the number of instructions in it that count."""
    sizes: dict[int, int] = {}
    start, fresh = 0, True
    for i, item in enumerate(items):
        if fresh or isinstance(item, str):
            start = i
            sizes[start] = 0
        fresh = isinstance(item, Instruction) and item.mnemonic in BRANCHES
        if isinstance(item, Instruction) and item.mnemonic not in IGNORED:
            sizes[start] += 1
    return sizes
