"""Data-parallel primitives: operations that read their first source from other lanes (RDNA3 ISA, "DPP")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from parity.emulator.amdgpu.writer import Writer
from parity.emulator.instruction import Instruction, Unknown

ROW, BANK = 16, 4
_CONTROLS = (
    "quad_perm", "row_shl", "row_shr", "row_ror", "wave_shl", "wave_rol", "wave_shr", "wave_ror", "row_mirror",
    "row_half_mirror", "row_bcast", "row_share", "row_newbcast", "row_xmask", "dpp8",
)  # fmt: skip
MODIFIERS = frozenset((*_CONTROLS, "row_mask", "bank_mask", "bound_ctrl", "fi"))


@dataclass(frozen=True)
class DppRouting:
    """The lane that each lane reads (``None``: no lane), and a mask of the lanes that may be written."""

    lanes: tuple[int | None, ...]
    writable: int
    bound_ctrl: bool
    fetch_inactive: bool

    def source(self, value: str) -> str:
        """Return C++ of the first source; missing and inactive lanes give 0."""
        return f"routed(valid, {self._shuffle(value)})"

    def valid(self, w: Writer) -> str:
        """Return C++ of the lanes whose source lane exists and is active."""
        there = sum(1 << i for i, lane in enumerate(self.lanes) if lane is not None)
        if self.fetch_inactive:
            return f"unmask({w.constant(there, '#x')})"
        return f"unmask({w.constant(there, '#x')} & mask(bools({self._shuffle('bit(unmask(exec))')} != 0)))"

    def live(self, w: Writer) -> str:
        """Return C++ of the mask of lanes that are written."""
        masked = f"exec & {w.constant(self.writable, '#x')}"
        return masked if self.bound_ctrl else f"{masked} & mask(valid)"

    def _shuffle(self, value: str) -> str:
        lanes = ", ".join(str(lane or 0) for lane in self.lanes)
        return f"__builtin_shufflevector({value}, {value}, {lanes})"


def dpp_routing(item: Instruction, lanes: int) -> DppRouting | None:
    """Return the routing from an instruction's modifiers; ``None`` if it is not a DPP instruction.

    Raises:
        Unknown: the control does not exist.
    """
    given = {name: value for name, _, value in (modifier.partition(":") for modifier in item.modifiers)}
    control = next((name for name in _CONTROLS if name in given), None)
    if control is None:
        if item.mnemonic.endswith("_dpp"):
            raise Unknown(f"DPP control of {item.mnemonic}")
        return None
    numbers = [int(x, 0) for x in given[control].strip("[]").split(",") if x]
    rows, banks = (int(given.get(name, "0xf"), 0) for name in ("row_mask", "bank_mask"))
    writable = sum(1 << i for i in range(lanes) if rows >> i // ROW & 1 and banks >> i % ROW // BANK & 1)
    sources = tuple(_source(control, numbers, i, lanes) for i in range(lanes))
    bound_ctrl = given.get("bound_ctrl") in ("0", "1") or control == "dpp8"
    return DppRouting(sources, writable, bound_ctrl, given.get("fi") == "1")


def _source(control: str, n: Sequence[int], i: int, lanes: int) -> int | None:
    """The lane that lane ``i`` reads."""
    row, at = i // ROW * ROW, i % ROW
    first = n[0] if n else 0
    found: dict[str, int | None] = {
        "quad_perm": i - i % 4 + (n[i % 4] if len(n) == 4 else 0),
        "dpp8": i - i % 8 + (n[i % 8] if len(n) == 8 else 0),
        "row_shl": i + first if at + first < ROW else None,
        "row_shr": i - first if at >= first else None,
        "row_ror": row + (at - first) % ROW,
        "row_mirror": row + ROW - 1 - at,
        "row_half_mirror": row + at // 8 * 8 + 7 - at % 8,
        "row_share": row + first,
        "row_newbcast": row + first,
        "row_xmask": row + (at ^ first),
        "wave_shl": i + 1 if i + 1 < lanes else None,
        "wave_shr": i - 1 if i else None,
        "wave_rol": (i + 1) % lanes,
        "wave_ror": (i - 1) % lanes,
        # Row 15 is broadcast to the next row, lane 31 to the upper half.
        "row_bcast": (row - 1 if row else None) if first == 15 else (31 if i >= 32 else None),
    }
    return found[control]
