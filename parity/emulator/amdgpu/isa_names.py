"""Canonical mnemonics. Generations have different names for some instructions; the tables use the names of RDNA 3."""

from __future__ import annotations

import functools
import re

#: Pairs of an other name and the canonical name, without encoding suffixes.
_ALIASES = """
v_add_u32 v_add_nc_u32              v_sub_u32 v_sub_nc_u32              v_subrev_u32 v_subrev_nc_u32
v_add_i32 v_add_nc_i32              v_sub_i32 v_sub_nc_i32
v_add_u16 v_add_nc_u16              v_sub_u16 v_sub_nc_u16              v_subrev_u16 v_subrev_nc_u16
v_add_i16 v_add_nc_i16              v_sub_i16 v_sub_nc_i16
v_addc_co_u32 v_add_co_ci_u32       v_subb_co_u32 v_sub_co_ci_u32       v_subbrev_co_u32 v_subrev_co_ci_u32
v_ffbh_u32 v_clz_i32_u32            v_ffbh_i32 v_cls_i32                v_ffbl_b32 v_ctz_i32_b32
v_mul_legacy_f32 v_mul_dx9_zero_f32 v_fma_legacy_f32 v_fma_dx9_zero_f32
v_cvt_flr_i32_f32 v_cvt_floor_i32_f32  v_cvt_rpi_i32_f32 v_cvt_nearest_i32_f32
v_cvt_pkrtz_f16_f32 v_cvt_pk_rtz_f16_f32  v_dot2acc_f32_f16 v_dot2c_f32_f16  v_accvgpr_read v_accvgpr_read_b32
v_accvgpr_write v_accvgpr_write_b32 v_accvgpr_mov v_accvgpr_mov_b32
s_andn2_b32 s_and_not1_b32          s_andn2_b64 s_and_not1_b64          s_orn2_b32 s_or_not1_b32
s_orn2_b64 s_or_not1_b64            s_ff1_i32_b32 s_ctz_i32_b32         s_ff1_i32_b64 s_ctz_i32_b64
s_flbit_i32_b32 s_clz_i32_u32       s_flbit_i32_b64 s_clz_i32_u64       s_flbit_i32 s_cls_i32
s_flbit_i32_i64 s_cls_i32_i64
v_mad_co_u64_u32 v_mad_u64_u32      v_mad_co_i64_i32 v_mad_i64_i32
s_add_co_u32 s_add_u32              s_sub_co_u32 s_sub_u32              s_add_co_i32 s_add_i32
s_add_co_ci_u32 s_addc_u32          s_sub_co_ci_u32 s_subb_u32          s_sub_co_i32 s_sub_i32
s_addk_co_i32 s_addk_i32
s_barrier_wait s_barrier            ds_wrxchg_rtn_b32 ds_swap_rtn_b32
ds_wrxchg_rtn_b64 ds_swap_rtn_b64
ds_storexchg_rtn_b32 ds_swap_rtn_b32  ds_storexchg_rtn_b64 ds_swap_rtn_b64
"""
_WORDS = _ALIASES.split()
_RENAMED = dict(zip(_WORDS[::2], _WORDS[1::2], strict=True))

_ENCODING = re.compile(r"(?:_e32|_e64)?(?:_dpp|_sdwa)?$")
_SAVEEXEC = re.compile(
    r"s_(and|or|xor|nand|nor|xnor|andn1|andn2|orn1|orn2|and_not0|and_not1|or_not0|or_not1)_saveexec_b(?:32|64)$"
)
_NOT = {"andn1": "and_not0", "andn2": "and_not1", "orn1": "or_not0", "orn2": "or_not1"}
_MEMORY = re.compile(r"(s|global|flat|scratch|buffer|ds)_(load|store|read|write)(2|2st64)?_(\w+)$")
_ATOMIC = re.compile(r"(global|flat|buffer)_atomic_([a-z_]+?)((?:_[uifb]\d+|_bf16|_f16)*)(_x2)?$")
_KINDS = {
    "dword": "b32", "dwordx2": "b64", "dwordx3": "b96", "dwordx4": "b128", "dwordx8": "b256", "dwordx16": "b512",
    "ubyte": "u8", "sbyte": "i8", "ushort": "u16", "sshort": "i16", "byte": "b8", "short": "b16",
    "short_d16": "d16_b16", "short_d16_hi": "d16_hi_b16", "ubyte_d16": "d16_u8", "ubyte_d16_hi": "d16_hi_u8",
    "sbyte_d16": "d16_i8", "sbyte_d16_hi": "d16_hi_i8", "byte_d16_hi": "d16_hi_b8",
    "u8_d16": "d16_u8", "u8_d16_hi": "d16_hi_u8", "i8_d16": "d16_i8", "i8_d16_hi": "d16_hi_i8",
    "u16_d16": "d16_b16", "u16_d16_hi": "d16_hi_b16", "b8_d16_hi": "d16_hi_b8", "b16_d16_hi": "d16_hi_b16",
}  # fmt: skip
# Atomics of generations 9 and 10 have a letter for the type in front, and _x2 for 64 bits.
_OLD_ATOMICS = {
    "swap": ("swap", "b"), "cmpswap": ("cmpswap", "b"), "add": ("add", "u"), "sub": ("sub", "u"),
    "smin": ("min", "i"), "umin": ("min", "u"), "smax": ("max", "i"), "umax": ("max", "u"), "and": ("and", "b"),
    "or": ("or", "b"), "xor": ("xor", "b"), "inc": ("inc", "u"), "dec": ("dec", "u"), "fmin": ("min", "f"),
    "fmax": ("max", "f"), "fcmpswap": ("cmpswap", "f"),
}  # fmt: skip


@functools.cache
def canonical(mnemonic: str) -> str:
    """Return the name of an instruction in the tables, without its encoding suffix."""
    name = _ENCODING.sub("", mnemonic).replace("v_dual_", "v_")
    if name in _RENAMED:
        return _RENAMED[name]
    if match := _SAVEEXEC.match(name):
        return f"s_{_NOT.get(match[1], match[1])}_saveexec"
    if match := _MEMORY.match(name):
        space, verb, pair, kind = match.groups()
        verb = {"read": "load", "write": "store"}.get(verb, verb)
        between = {None: "", "2": "2addr_", "2st64": "2addr_stride64_"}[pair]
        return f"{space}_{verb}_{between}{_KINDS.get(kind, kind)}"
    if match := _ATOMIC.match(name):
        space, operation, kind, wide = match.groups()
        if not kind and operation in _OLD_ATOMICS:
            operation, letter = _OLD_ATOMICS[operation]
            kind = f"_{letter}{64 if wide else 32}"
        return f"{space}_atomic_{operation}{kind}"
    return name
