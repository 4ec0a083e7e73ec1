"""The semantics of arithmetic instructions, from a table and patterns, and the instructions that have no effect.

The table ``isa.csv`` has a row for each instruction of RDNA: its unit, the types of its results and sources, and a C++
expression. ``a b c`` are the sources, and ``d`` is the old destination; a semicolon precedes a second result. Types:
``f16 f32 f64 i16 u16 i32 u32 i64 u64``, ``mask`` (one bit per lane in an SGPR, as wide as the wavefront), ``lane0`` (an
SGPR), ``mix`` (f32, or f16 if op_sel_hi is set). A row with ``types`` defines an instruction for each type, which
replaces ``T``; widths in bits replace ``N``. FNUZ is ``Target.fnuz``.

``scc`` in the expression of a scalar instruction is the carry in. The column ``scc`` has the new SCC: ``r`` is the
result, ``nz`` means ``r != 0`` and ``-`` means unchanged. A result ``exec`` goes to EXEC, and the old value of EXEC to
the destination (saveexec, printed with the width ``_b32`` or ``_b64``). ``uniform`` rows are scalar floating-point
instructions of generation 12 without a vector form.

Semantics: RDNA3 Instruction Set Architecture, chapter 16.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace
from pathlib import Path

from parity.emulator.amdgpu.isa_names import canonical
from parity.platform.files import read_table


@dataclass(frozen=True, slots=True)
class Semantics:
    """The semantics of an operation.

    Attributes:
        results: the type of each result.
        sources: the types of the sources ``a b c``.
        expressions: C++ of each result.
        scalar: it is a scalar operation.
        scc: C++ of SCC afterwards; empty if SCC does not change.
        packed: it applies to both halves of a register (16-bit types) or to both registers of a pair (32-bit types).
        uniform: it is a vector operation on scalar registers.
    """

    results: tuple[str, ...]
    sources: tuple[str, ...]
    expressions: tuple[str, ...]
    scalar: bool = False
    scc: str = ""
    packed: bool = False
    uniform: bool = False


_IGNORED = """
s_waitcnt s_waitcnt_vscnt s_waitcnt_vmcnt s_waitcnt_lgkmcnt s_waitcnt_expcnt s_waitcnt_depctr
s_delay_alu s_clause s_nop v_nop s_sleep s_setprio s_set_inst_prefetch_distance s_inst_prefetch s_code_end
s_wait_idle s_dcache_inv s_icache_inv s_ttracedata s_dcache_wb s_version
buffer_gl0_inv buffer_gl1_inv buffer_wbinvl1 buffer_wbinvl1_vol buffer_invl2 buffer_wbl2 buffer_inv
s_wait_alu s_wait_kmcnt s_wait_loadcnt s_wait_storecnt s_wait_dscnt s_wait_samplecnt s_wait_bvhcnt s_wait_expcnt
s_wait_loadcnt_dscnt s_wait_storecnt_dscnt
global_inv global_wb global_wbinv s_prefetch_inst s_prefetch_inst_pc_rel s_barrier_signal
"""
#: Waits and hints, which have no effect because instructions execute in order.
IGNORED = frozenset(_IGNORED.split())

#: The condition of each branch.
BRANCHES = {
    "s_branch": "", "s_cbranch_execz": "exec == 0", "s_cbranch_execnz": "exec != 0", "s_cbranch_vccz": "vcc == 0",
    "s_cbranch_vccnz": "vcc != 0", "s_cbranch_scc0": "!scc", "s_cbranch_scc1": "scc",
}  # fmt: skip

#: 16-bit operations that keep the upper half of their register even on generation 9 (LLVM, GCNSubtarget).
KEEPS_HIGH = frozenset(
    ("v_mad_f16", "v_mad_u16", "v_mad_i16", "v_fma_f16", "v_fmac_f16", "v_fmamk_f16", "v_fmaak_f16",
     "v_madmk_f16", "v_madak_f16", "v_div_fixup_f16", "v_cvt_pk_fp8_f32", "v_cvt_pk_bf8_f32")
)  # fmt: skip

_COMPARE = re.compile(r"v_cmp(x?)_([a-z]+)_([fiu]\d+)$")
# Scalar floating point of generation 12 (also v_s_exp_f32): the vector operation on scalar registers.
_UNIFORM = re.compile(r"(?:v_s|s)_(cvt_\w+|\w+_f(?:16|32))$")
_UNIFORM_COMPARE = re.compile(r"s_cmp_([a-z]+)_(f16|f32)$")
_SCALAR_COMPARE = re.compile(r"s_cmp(k?)_([a-z]+)_([iu]\d+)$")


#: ``v_cmp_{name}_{type}`` and ``v_cmpx_{name}_{type}``. Float compares are ordered unless the name begins with n.
COMPARES = {
    "lt": "a < b", "le": "a <= b", "gt": "a > b", "ge": "a >= b", "eq": "a == b", "ne": "a != b",
    "lg": "(a < b) | (a > b)", "neq": "~(a == b)", "nlt": "~(a < b)", "nle": "~(a <= b)", "ngt": "~(a > b)",
    "nge": "~(a >= b)", "nlg": "~((a < b) | (a > b))", "o": "(a == a) & (b == b)", "u": "(a != a) | (b != b)",
    "class": "is_class(a, b)",
}  # fmt: skip

_PACKED = """
mov_b32 add_f32 mul_f32 fma_f32 add_f16 mul_f16 fma_f16 fmac_f16 max_f16 min_f16 max_num_f16 min_num_f16 maximum_f16
minimum_f16 mul_lo_u16 mad_u16 mad_i16 max_u16 min_u16 max_i16 min_i16 lshlrev_b16 lshrrev_b16 ashrrev_i16
"""
#: ``v_pk_{name}`` applies this instruction to both halves of a register (16 bits) or of a pair (32 bits).
PACKED = {
    **{name: f"v_{name}" for name in _PACKED.split()},
    **{f"{name}_{kind}": f"v_{name}_nc_{kind}" for name in ("add", "sub") for kind in ("u16", "i16")},
}

#: ``s_cmp_{name}_{type}`` and ``s_cmpk_{name}_{type}``, which write SCC.
SCALAR_COMPARES = {"eq": "==", "lg": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


@functools.cache
def _table() -> dict[str, Semantics]:
    found = {}
    for row in read_table(Path(__file__).with_suffix(".csv")):
        for kind in row["types"].split() or [""]:
            letter = "N" if kind.isdecimal() else "T"
            one = {key: text.replace(letter, kind) if kind else text for key, text in row.items()}
            results, sources = tuple(one["results"].split()), tuple(one["sources"].split())
            expressions = tuple(each.strip() for each in one["expression"].split(";"))
            scc = {"-": "", "nz": "r != 0"}.get(one["scc"], one["scc"])
            scalar, uniform = row["unit"] == "scalar", row["unit"] == "uniform"
            found[one["name"]] = Semantics(results, sources, expressions, scalar, scc, uniform=uniform)
    return found


def table_entries() -> tuple[str, ...]:
    """Return the names of all rows. Compares are not rows, because they follow a pattern."""
    return (*_table(), *(f"v_pk_{name}" for name in PACKED))


@functools.cache
def semantics(mnemonic: str) -> Semantics | None:
    """Return the semantics of an ALU instruction by its mnemonic; ``None`` if it is not known."""
    name = canonical(mnemonic)
    if known := _table().get(name):
        return known
    if (match := _COMPARE.match(name)) and match[2] in COMPARES:
        second = "u32" if match[2] == "class" else match[3]
        return Semantics(("exec" if match[1] else "mask",), (match[3], second), (COMPARES[match[2]],))
    if (match := _SCALAR_COMPARE.match(name)) and match[2] in SCALAR_COMPARES:
        kind = match[3]
        second = ("k16" if kind[0] == "i" else "uk16") if match[1] else kind
        cast = f"({kind})" if match[1] else ""
        return Semantics(("scc",), (kind, second), (f"a {SCALAR_COMPARES[match[2]]} {cast}b",), scalar=True)
    if (match := _UNIFORM_COMPARE.match(name)) and match[1] in COMPARES:
        return Semantics(("scc",), (match[2], match[2]), (COMPARES[match[1]],), uniform=True)
    if (match := _UNIFORM.match(name)) and (vector := _table().get(canonical(f"v_{match[1]}"))):
        return replace(vector, uniform=True)
    if name.startswith("v_pk_") and (base := PACKED.get(name.removeprefix("v_pk_"))):
        plain = _table()[base]
        return Semantics(plain.results, plain.sources, plain.expressions, packed=True)
    return None
