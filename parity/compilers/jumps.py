"""Finds addresses of instructions that code computes: for calls, and for branches too long for a branch instruction."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

REACH = 16
"""The most instructions between ``s_getpc_b64`` and the branch."""
_WORD = 1 << 32
_NOWHERE = -1
"""The address of a sum that is not a single addition to the instruction counter."""
_PAIR = re.compile(r"s\[(\d+):\d+\]")
_SUMS: Mapping[str, tuple[int, bool]] = {
    **dict.fromkeys(("s_add_u32", "s_add_i32", "s_add_co_u32", "s_add_co_i32"), (1, False)),
    **dict.fromkeys(("s_addc_u32", "s_add_co_ci_u32"), (1, True)),
    **dict.fromkeys(("s_sub_u32", "s_sub_co_u32"), (-1, False)),
    **dict.fromkeys(("s_subb_u32", "s_sub_co_ci_u32"), (-1, True)),
}
"""Additions and subtractions: the sign of the second operand, and whether it includes SCC."""


@dataclass(frozen=True)
class CodeAddress:
    """An address that code computes.

    Attributes:
        halves: the addresses of the instructions that add the low and the high half to the instruction counter.
        to: the computed address.
        branch: the address of the ``s_setpc_b64`` that uses it at once; ``None`` if the code only keeps the address.
    """

    halves: tuple[int, int]
    to: int
    branch: int | None = None


def code_address(instructions: Sequence[tuple[int, int, str]]) -> CodeAddress | None:
    """Follow code that begins with ``s_getpc_b64`` until it branches or uses the address.

    ``instructions`` are address, size and text. Returns ``None`` if the code does something else.
    """
    at, size, text = instructions[0]
    low = int(_PAIR.findall(text)[0])
    pair = f"s{low}", f"s{low + 1}"
    known = {pair[0]: (at + size) % _WORD, pair[1]: (at + size) // _WORD}
    sums: dict[str, int] = {}
    scc, resumed = 0, 0
    for here, size, text in instructions[1:REACH]:
        mnemonic, _, rest = text.partition(" ")
        result, *operands = rest.split(", ")
        values = [known.get(each, _number(each)) for each in operands]
        if here < resumed:
            continue
        if mnemonic == "s_setpc_b64":
            return _found(sums, known, pair, here if result == f"s[{low}:{low + 1}]" else None)
        if mnemonic in ("s_cbranch_scc0", "s_cbranch_scc1"):
            resumed = here + size + 4 * int(result) if str(scc) == mnemonic[-1] else 0
        elif mnemonic.startswith(("s_branch", "s_cbranch", "s_swappc", "s_endpgm")):
            break
        elif mnemonic == "s_cmp_ge_i32" and result in known:
            scc = int(known[result] < _WORD // 2)  # the code compares with 0
        elif mnemonic == "s_abs_i32" and values[0] is not None:
            known[result] = min(values[0], _WORD - values[0])
        elif mnemonic in _SUMS and values[0] is not None and values[1] is not None:
            sign, carries = _SUMS[mnemonic]
            exact = values[0] + sign * (values[1] + (scc if carries else 0))
            known[result], scc = exact % _WORD, int(exact % _WORD != exact)
            if result in pair:
                sums[result] = here if operands[0] == result not in sums else _NOWHERE
        elif result in pair:
            break
        else:
            known.pop(result, None)
    return _found(sums, known, pair)


def _found(
    sums: Mapping[str, int], known: Mapping[str, int], pair: tuple[str, str], branch: int | None = None
) -> CodeAddress | None:
    if sums.keys() != {*pair} or (branch is None and _NOWHERE in sums.values()):
        return None
    return CodeAddress((sums[pair[0]], sums[pair[1]]), known[pair[0]] + known[pair[1]] * _WORD, branch)


def _number(operand: str) -> int | None:
    try:
        return int(operand, 0) % _WORD
    except ValueError:
        return None
