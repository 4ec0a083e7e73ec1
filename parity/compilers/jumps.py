"""Finds the targets of branches whose distance is too long for a branch instruction: code computes their address."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

REACH = 16
"""The most instructions between ``s_getpc_b64`` and the branch."""
_WORD = 1 << 32
_PAIR = re.compile(r"s\[(\d+):\d+\]")
_SUMS: Mapping[str, tuple[int, bool]] = {
    **dict.fromkeys(("s_add_u32", "s_add_i32", "s_add_co_u32", "s_add_co_i32"), (1, False)),
    **dict.fromkeys(("s_addc_u32", "s_add_co_ci_u32"), (1, True)),
    **dict.fromkeys(("s_sub_u32", "s_sub_co_u32"), (-1, False)),
    **dict.fromkeys(("s_subb_u32", "s_sub_co_ci_u32"), (-1, True)),
}
"""Additions and subtractions: the sign of the second operand, and whether it includes SCC."""


def jump(instructions: Sequence[tuple[int, int, str]]) -> tuple[int, int] | None:
    """Follow code that begins with ``s_getpc_b64`` to the ``s_setpc_b64`` of the same registers.

    ``instructions`` are address, size and text. Returns the address of the branch and of its target; ``None`` if the
    code does something else.
    """
    at, size, text = instructions[0]
    low = int(_PAIR.findall(text)[0])
    pair = f"s{low}", f"s{low + 1}"
    known = {pair[0]: (at + size) % _WORD, pair[1]: (at + size) // _WORD}
    scc, resumed = 0, 0
    for here, size, text in instructions[1:REACH]:
        mnemonic, _, rest = text.partition(" ")
        result, *operands = rest.split(", ")
        values = [known.get(each, _number(each)) for each in operands]
        if here < resumed:
            continue
        if mnemonic == "s_setpc_b64":
            if result != f"s[{low}:{low + 1}]" or not known.keys() >= {*pair}:
                return None
            return here, known[pair[0]] + known[pair[1]] * _WORD
        if mnemonic in ("s_cbranch_scc0", "s_cbranch_scc1"):
            resumed = here + size + 4 * int(result) if str(scc) == mnemonic[-1] else 0
        elif mnemonic.startswith(("s_branch", "s_cbranch", "s_swappc", "s_endpgm")):
            return None
        elif mnemonic == "s_cmp_ge_i32" and result in known:
            scc = int(known[result] < _WORD // 2)  # the code compares with 0
        elif mnemonic == "s_abs_i32" and values[0] is not None:
            known[result] = min(values[0], _WORD - values[0])
        elif mnemonic in _SUMS and values[0] is not None and values[1] is not None:
            sign, carries = _SUMS[mnemonic]
            exact = values[0] + sign * (values[1] + (scc if carries else 0))
            known[result], scc = exact % _WORD, int(exact % _WORD != exact)
        else:
            known.pop(result, None)
    return None


def _number(operand: str) -> int | None:
    try:
        return int(operand, 0) % _WORD
    except ValueError:
        return None
