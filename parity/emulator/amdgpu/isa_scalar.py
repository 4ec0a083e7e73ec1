"""Scalar instructions of RDNA, one per line.

A row is ``name : result = sources : expression : SCC``. ``d`` is the old destination and ``scc`` the carry in. In the
SCC column, ``r`` is the result, ``nz`` means ``r != 0`` and ``-`` means unchanged. ``T`` and ``N`` have the meaning
that ``isa_vector.py`` defines. A ``mask`` has the width of the wavefront. A result ``exec`` goes to EXEC, and the old
value of EXEC to the destination (saveexec, printed with the width ``_b32`` or ``_b64``). Semantics: RDNA3 Instruction
Set Architecture, chapter 16.
"""

from __future__ import annotations

SCALAR = """
s_mov_bN 32 64         : uN = uN       : a                        : -
s_movk_i32             : u32 = k16     : a                        : -
s_cmovk_i32            : u32 = k16     : pick(scc, (u32)a, d)     : -
s_cmov_bN 32 64        : uN = uN       : pick(scc, a, d)          : -
s_cselect_bN 32 64     : uN = uN uN    : pick(scc, a, b)          : -
s_not_bN 32 64         : uN = uN       : ~a                       : nz
s_and_bN 32 64         : uN = uN uN    : a & b                    : nz
s_or_bN 32 64          : uN = uN uN    : a | b                    : nz
s_xor_bN 32 64         : uN = uN uN    : a ^ b                    : nz
s_and_not1_bN 32 64    : uN = uN uN    : a & ~b                   : nz
s_or_not1_bN 32 64     : uN = uN uN    : a | ~b                   : nz
s_nand_bN 32 64        : uN = uN uN    : ~(a & b)                 : nz
s_nor_bN 32 64         : uN = uN uN    : ~(a | b)                 : nz
s_xnor_bN 32 64        : uN = uN uN    : ~(a ^ b)                 : nz
s_add_u32              : u32 = u32 u32 : a + b                    : r < a
s_addc_u32             : u32 = u32 u32 : a + b + scc              : (u64)a + b + scc > 0xffffffffu
s_sub_u32              : u32 = u32 u32 : a - b                    : a < b
s_subb_u32             : u32 = u32 u32 : a - b - scc              : (u64)b + scc > a
s_add_i32              : u32 = u32 u32 : a + b                    : (~(a ^ b) & (a ^ r)) >> 31
s_sub_i32              : u32 = u32 u32 : a - b                    : ((a ^ b) & (a ^ r)) >> 31
s_addk_i32             : u32 = k16     : d + a                    : (~(a ^ d) & (a ^ r)) >> 31
s_mulk_i32             : u32 = k16     : d * a                    : -
s_mul_i32              : u32 = u32 u32 : a * b                    : -
s_mul_hi_T u32 i32     : T = T T       : mulhi(a, b)              : -
s_add_nc_u64           : u64 = u64 u64 : a + b                    : -
s_sub_nc_u64           : u64 = u64 u64 : a - b                    : -
s_mul_u64              : u64 = u64 u64 : a * b                    : -
s_lshl_b32             : u32 = u32 u32 : a << (b & 31)            : nz
s_lshr_b32             : u32 = u32 u32 : a >> (b & 31)            : nz
s_ashr_i32             : i32 = i32 u32 : a >> (b & 31)            : nz
s_lshl_b64             : u64 = u64 u32 : a << (b & 63)            : nz
s_lshr_b64             : u64 = u64 u32 : a >> (b & 63)            : nz
s_ashr_i64             : i64 = i64 u32 : a >> (b & 63)            : nz
s_lshl1_add_u32        : u32 = u32 u32 : (a << 1) + b             : ((u64)a << 1) + b > 0xffffffffu
s_lshl2_add_u32        : u32 = u32 u32 : (a << 2) + b             : ((u64)a << 2) + b > 0xffffffffu
s_lshl3_add_u32        : u32 = u32 u32 : (a << 3) + b             : ((u64)a << 3) + b > 0xffffffffu
s_lshl4_add_u32        : u32 = u32 u32 : (a << 4) + b             : ((u64)a << 4) + b > 0xffffffffu
s_bfm_b32              : u32 = u32 u32 : ((1u << (a & 31)) - 1) << (b & 31) : -
s_bfm_b64              : u64 = u32 u32 : ((1ul << (a & 63)) - 1) << (b & 63) : -
s_bfe_T u32 i32 u64 i64 : T = T u32     : bfe_scalar<T>(a, b)      : nz
s_brev_bN 32 64        : uN = uN       : bitreverse(a)            : -
s_bcnt0_i32_b32        : u32 = u32     : popcount(~a)             : nz
s_bcnt0_i32_b64        : u32 = u64     : popcount(~a)             : nz
s_bcnt1_i32_b32        : u32 = u32     : popcount(a)              : nz
s_bcnt1_i32_b64        : u32 = u64     : popcount(a)              : nz
s_clz_i32_u32          : u32 = u32     : clz(a)                   : -
s_clz_i32_u64          : u32 = u64     : clz64(a)                 : -
s_ctz_i32_b32          : u32 = u32     : ctz(a)                   : -
s_ctz_i32_b64          : u32 = u64     : ctz64(a)                 : -
s_cls_i32              : u32 = i32     : clz((u32)(a ^ (a >> 31))) : -
s_cls_i32_i64          : u32 = i64     : clz64((u64)(a ^ (a >> 63))) : -
s_quadmask_bN 32 64    : uN = uN       : quads(a)                 : nz
s_wqm_bN 32 64         : uN = uN       : whole_quads(a)           : nz
s_bitreplicate_b64_b32 : u64 = u32     : replicate(a)             : -
s_abs_i32              : u32 = u32     : pick(a >> 31, 0u - a, a) : nz
s_absdiff_i32          : u32 = i32 i32 : pick((u32)a - (u32)b >> 31, (u32)b - (u32)a, (u32)a - (u32)b) : nz
s_min_T u32 i32        : T = T T       : min(a, b)                : a < b
s_max_T u32 i32        : T = T T       : max(a, b)                : a >= b
s_sext_i32_i8          : i32 = u32     : (i8)a                    : -
s_sext_i32_i16         : i32 = u32     : (i16)a                   : -
s_bitset0_b32          : u32 = u32     : d & ~(1u << (a & 31))    : -
s_bitset0_b64          : u64 = u32     : d & ~(1ul << (a & 63))   : -
s_bitset1_b32          : u32 = u32     : d | 1u << (a & 31)       : -
s_bitset1_b64          : u64 = u32     : d | 1ul << (a & 63)      : -
s_pack_ll_b32_b16      : u32 = u32 u32 : (a & 0xffff) | b << 16   : -
s_pack_lh_b32_b16      : u32 = u32 u32 : (a & 0xffff) | (b & 0xffff0000u) : -
s_pack_hh_b32_b16      : u32 = u32 u32 : a >> 16 | (b & 0xffff0000u) : -
s_pack_hl_b32_b16      : u32 = u32 u32 : a >> 16 | b << 16        : -
s_and_saveexec         : exec = mask   : a & exec                 : nz
s_or_saveexec          : exec = mask   : a | exec                 : nz
s_xor_saveexec         : exec = mask   : a ^ exec                 : nz
s_nand_saveexec        : exec = mask   : ~(a & exec)              : nz
s_nor_saveexec         : exec = mask   : ~(a | exec)              : nz
s_xnor_saveexec        : exec = mask   : ~(a ^ exec)              : nz
s_and_not1_saveexec    : exec = mask   : a & ~exec                : nz
s_and_not0_saveexec    : exec = mask   : ~a & exec                : nz
s_or_not1_saveexec     : exec = mask   : a | ~exec                : nz
s_or_not0_saveexec     : exec = mask   : ~a | exec                : nz
s_bitcmp0_b32          : scc = u32 u32 : !(a >> (b & 31) & 1)     : -
s_bitcmp1_b32          : scc = u32 u32 : a >> (b & 31) & 1        : -
s_bitcmp0_b64          : scc = u64 u32 : !(a >> (b & 63) & 1)     : -
s_bitcmp1_b64          : scc = u64 u32 : a >> (b & 63) & 1        : -
"""

#: ``s_cmp_{name}_{type}`` and ``s_cmpk_{name}_{type}``, which write SCC.
SCALAR_COMPARES = {"eq": "==", "lg": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}

#: Scalar floating-point instructions of generation 12 without a vector form; rows have the format of VECTOR.
UNIFORM = """
s_cvt_hi_f32_f16     : f32 = u32 : to<f32>(as<f16>(to<u16>(a >> 16)))
"""
