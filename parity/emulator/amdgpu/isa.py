"""The semantics of arithmetic instructions, from tables and patterns, and the instructions that have no effect."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace

from parity.emulator.amdgpu.isa_names import canonical
from parity.emulator.amdgpu.isa_scalar import SCALAR, SCALAR_COMPARES, UNIFORM
from parity.emulator.amdgpu.isa_vector import COMPARES, PACKED, VECTOR


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


def _rows(table: str) -> dict[str, list[str]]:
    """The columns of each row by name. Types or widths after a name generate a row for each of them."""
    found = {}
    for line in filter(None, table.splitlines()):
        head, *row = (column.strip() for column in line.split(":"))
        name, *kinds = head.split()
        for kind in kinds or [""]:
            letter = "N" if kind.isdecimal() else "T"
            one, *columns = (text.replace(letter, kind) if kind else text for text in (name, *row))
            found[one] = columns
    return found


def _parse(row: list[str], scalar: bool) -> Semantics:
    results, _, sources = row[0].partition("=")
    scc = "" if not scalar or row[2] == "-" else "r != 0" if row[2] == "nz" else row[2]
    expressions = tuple(e.strip() for e in row[1].split(";"))
    return Semantics(tuple(results.split()), tuple(sources.split()), expressions, scalar, scc)


@functools.cache
def _table() -> dict[str, Semantics]:
    return {
        **{name: _parse(row, False) for name, row in _rows(VECTOR).items()},
        **{name: _parse(row, True) for name, row in _rows(SCALAR).items()},
        **{name: replace(_parse(row, False), uniform=True) for name, row in _rows(UNIFORM).items()},
    }


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
