"""Vector instructions of RDNA, one per line.

A row is ``name : results = sources : expression``. Sources are ``a b c``, and ``d`` is the old destination; a semicolon
precedes a second result. Types: ``f16 f32 f64 i16 u16 i32 u32 i64 u64``, ``mask`` (one bit per lane in an SGPR),
``lane0`` (an SGPR), ``mix`` (f32, or f16 if op_sel_hi is set). A row with types after its name defines an instruction
for each type, which replaces ``T``; widths in bits replace ``N``. FNUZ is ``Target.fnuz``. Semantics: RDNA3 Instruction
Set Architecture, chapter 16.
"""

from __future__ import annotations

VECTOR = """
v_mov_bN 32 16 64              : uN = uN                 : a
v_accvgpr_read_b32             : u32 = u32               : a
v_accvgpr_write_b32            : u32 = u32               : a
v_accvgpr_mov_b32              : u32 = u32               : a
v_not_bN 32 16                 : uN = uN                 : ~a
v_and_bN 32 16                 : uN = uN uN              : a & b
v_or_bN 32 16                  : uN = uN uN              : a | b
v_xor_bN 32 16                 : uN = uN uN              : a ^ b
v_xnor_b32                     : u32 = u32 u32           : ~(a ^ b)
v_or3_b32                      : u32 = u32 u32 u32       : a | b | c
v_xor3_b32                     : u32 = u32 u32 u32       : a ^ b ^ c
v_and_or_b32                   : u32 = u32 u32 u32       : (a & b) | c
v_lshl_or_b32                  : u32 = u32 u32 u32       : (a << (b & 31)) | c
v_lshl_add_u32                 : u32 = u32 u32 u32       : (a << (b & 31)) + c
v_lshl_add_u64                 : u64 = u64 u32 u64       : (a << to<u64>(b & 7)) + c
v_add_lshl_u32                 : u32 = u32 u32 u32       : (a + b) << (c & 31)
v_xad_u32                      : u32 = u32 u32 u32       : (a ^ b) + c
v_add3_u32                     : u32 = u32 u32 u32       : a + b + c
v_bfi_b32                      : u32 = u32 u32 u32       : (a & b) | (~a & c)
v_bfe_u32                      : u32 = u32 u32 u32       : bfe_u(a, b, c)
v_bfe_i32                      : i32 = i32 u32 u32       : bfe_i(a, b, c)
v_bfm_b32                      : u32 = u32 u32           : ((1u << (a & 31)) - 1) << (b & 31)
v_alignbit_b32                 : u32 = u32 u32 u32       : lo32(join(b, a) >> to<u64>(c & 31))
v_alignbyte_b32                : u32 = u32 u32 u32       : lo32(join(b, a) >> to<u64>(8 * (c & 3)))
v_perm_b32                     : u32 = u32 u32 u32       : perm(a, b, c)
v_lshlrev_b32                  : u32 = u32 u32           : b << (a & 31)
v_lshrrev_b32                  : u32 = u32 u32           : b >> (a & 31)
v_ashrrev_i32                  : i32 = u32 i32           : b >> as<i32>(a & 31)
v_lshlrev_b16                  : u16 = u16 u16           : b << (a & (u16)15)
v_lshrrev_b16                  : u16 = u16 u16           : b >> (a & (u16)15)
v_ashrrev_i16                  : i16 = u16 i16           : b >> as<i16>(a & (u16)15)
v_lshlrev_b64                  : u64 = u32 u64           : b << to<u64>(a & 63)
v_lshrrev_b64                  : u64 = u32 u64           : b >> to<u64>(a & 63)
v_ashrrev_i64                  : i64 = u32 i64           : b >> to<i64>(a & 63)
v_bfrev_b32                    : u32 = u32               : bitreverse(a)
v_bcnt_u32_b32                 : u32 = u32 u32           : popcount(a) + b
v_clz_i32_u32                  : u32 = u32               : clz(a)
v_ctz_i32_b32                  : u32 = u32               : ctz(a)
v_cls_i32                      : u32 = i32               : cls(a)
v_mbcnt_lo_u32_b32             : u32 = u32 u32           : mbcnt_lo(a, b)
v_mbcnt_hi_u32_b32             : u32 = u32 u32           : mbcnt_hi(a, b)
v_cndmask_bN 32 16             : fN = fN fN mask         : sel(c, b, a)
v_readfirstlane_b32            : lane0 = u32             : a

v_add_nc_T u32 i32 u16 i16     : T = T T                 : a + b
v_sub_nc_T u32 i32 u16 i16     : T = T T                 : a - b
v_subrev_nc_T u32 u16          : T = T T                 : b - a
v_add_co_u32                   : u32 mask = u32 u32      : a + b ; a + b < a
v_sub_co_u32                   : u32 mask = u32 u32      : a - b ; a < b
v_subrev_co_u32                : u32 mask = u32 u32      : b - a ; b < a
v_add_co_ci_u32                : u32 mask = u32 u32 mask : a + b + bit(c) ; (a + b < a) | (a + b + bit(c) < bit(c))
v_sub_co_ci_u32                : u32 mask = u32 u32 mask : a - b - bit(c) ; (a < b) | (a - b < bit(c))
v_subrev_co_ci_u32             : u32 mask = u32 u32 mask : b - a - bit(c) ; (b < a) | (b - a < bit(c))
v_mul_lo_T u32 u16             : T = T T                 : a * b
v_mul_hi_T u32 i32             : T = T T                 : mulhi(a, b)
v_mad_T u16 i16 f16            : T = T T T               : a * b + c
v_mad_legacy_T u16 i16 f16     : T = T T T               : a * b + c
v_mul_u32_u24                  : u32 = u32 u32           : (a & 0xffffff) * (b & 0xffffff)
v_mul_i32_i24                  : i32 = i32 i32           : bfe_i(a, 0, 24) * bfe_i(b, 0, 24)
v_mul_hi_u32_u24               : u32 = u32 u32           : mulhi(a & 0xffffff, b & 0xffffff)
v_mul_hi_i32_i24               : i32 = i32 i32           : mulhi(bfe_i(a, 0, 24), bfe_i(b, 0, 24))
v_mad_u32_u24                  : u32 = u32 u32 u32       : (a & 0xffffff) * (b & 0xffffff) + c
v_mad_i32_i24                  : i32 = i32 i32 i32       : bfe_i(a, 0, 24) * bfe_i(b, 0, 24) + c
v_mad_u32_u16                  : u32 = u16 u16 u32       : to<u32>(a) * to<u32>(b) + c
v_mad_i32_i16                  : i32 = i16 i16 i32       : to<i32>(a) * to<i32>(b) + c
v_mad_u64_u32                  : u64 mask = u32 u32 u64  : to<u64>(a) * to<u64>(b) + c ; to<u64>(a) * to<u64>(b) + c < c
v_mad_i64_i32                  : i64 mask = i32 i32 i64  : to<i64>(a) * to<i64>(b) + c ; mad_carry(a, b, c)
v_sad_u32                      : u32 = u32 u32 u32       : max(a, b) - min(a, b) + c
v_sad_u16                      : u32 = u32 u32 u32       : sad<16>(a, b, c)
v_sad_u8                       : u32 = u32 u32 u32       : sad<8>(a, b, c)
v_sad_hi_u8                    : u32 = u32 u32 u32       : (sad<8>(a, b, all(0u)) << 16) + c
v_msad_u8                      : u32 = u32 u32 u32       : msad(a, b, c)
v_lerp_u8                      : u32 = u32 u32 u32       : lerp(a, b, c)
v_dot2_i32_i16                 : u32 = u32 u32 u32       : dot<16>(a, b, c, 3)
v_dot2_u32_u16                 : u32 = u32 u32 u32       : dot<16>(a, b, c, 0)
v_dot4_i32_i8                  : u32 = u32 u32 u32       : dot<8>(a, b, c, 3)
v_dot4_u32_u8                  : u32 = u32 u32 u32       : dot<8>(a, b, c, 0)
v_dot4_i32_iu8                 : u32 = u32 u32 u32       : dot<8>(a, b, c, signs)
v_dot8_i32_i4                  : u32 = u32 u32 u32       : dot<4>(a, b, c, 3)
v_dot8_u32_u4                  : u32 = u32 u32 u32       : dot<4>(a, b, c, 0)
v_dot8_i32_iu4                 : u32 = u32 u32 u32       : dot<4>(a, b, c, signs)
v_dot2c_i32_i16                : u32 = u32 u32           : dot<16>(a, b, d, 3)
v_dot4c_i32_i8                 : u32 = u32 u32           : dot<8>(a, b, d, 3)
v_dot8c_i32_i4                 : u32 = u32 u32           : dot<4>(a, b, d, 3)
v_max_T u32 i32 u16 i16 f32 f16 f64 : T = T T                 : max(a, b)
v_min_T u32 i32 u16 i16 f32 f16 f64 : T = T T                 : min(a, b)
v_max3_T u32 i32 i16 u16 f32 f16 : T = T T T               : max(max(a, b), c)
v_min3_T u32 i32 i16 u16 f32 f16 : T = T T T               : min(min(a, b), c)
v_med3_T u32 i32 i16 u16       : T = T T T               : med3(a, b, c)
v_maxmin_T u32 i32 f32 f16     : T = T T T               : min(max(a, b), c)
v_minmax_T u32 i32 f32 f16     : T = T T T               : max(min(a, b), c)

v_add_T f32 f16 f64            : T = T T                 : a + b
v_sub_T f32 f16                : T = T T                 : a - b
v_subrev_T f32 f16             : T = T T                 : b - a
v_mul_T f32 f16 f64            : T = T T                 : a * b
v_mul_dx9_zero_f32             : f32 = f32 f32           : sel((a == 0.0f) | (b == 0.0f), all(0.0f), a * b)
v_fma_T f32 f16 f64            : T = T T T               : fma(a, b, c)
v_fmac_T f32 f16 f64           : T = T T                 : fma(a, b, d)
v_mad_f32                      : f32 = f32 f32 f32       : mad_f32(a, b, c)
v_mac_f32                      : f32 = f32 f32           : mad_f32(a, b, d)
v_madak_f32                    : f32 = f32 f32 f32       : mad_f32(a, b, c)
v_madmk_f32                    : f32 = f32 f32 f32       : mad_f32(a, b, c)
v_fma_dx9_zero_f32             : f32 = f32 f32 f32       : sel((a == 0.0f) | (b == 0.0f), c, fma(a, b, c))
v_dot2_f32_f16                 : f32 = u32 u32 f32       : dot2(a, b, c)
v_dot2c_f32_f16                : f32 = u32 u32           : dot2(a, b, d)
v_fmaak_T f32 f16              : T = T T T               : fma(a, b, c)
v_fmamk_T f32 f16              : T = T T T               : fma(a, b, c)
v_max_num_T f32 f16 f64        : T = T T                 : max_num(a, b)
v_min_num_T f32 f16 f64        : T = T T                 : min_num(a, b)
v_maximum_T f32 f16 f64        : T = T T                 : maximum(a, b)
v_minimum_T f32 f16 f64        : T = T T                 : minimum(a, b)
v_maximum3_T f32 f16           : T = T T T               : maximum(maximum(a, b), c)
v_minimum3_T f32 f16           : T = T T T               : minimum(minimum(a, b), c)
v_maximumminimum_T f32 f16     : T = T T T               : minimum(maximum(a, b), c)
v_minimummaximum_T f32 f16     : T = T T T               : maximum(minimum(a, b), c)
v_max3_num_T f32 f16           : T = T T T               : max_num(max_num(a, b), c)
v_min3_num_T f32 f16           : T = T T T               : min_num(min_num(a, b), c)
v_med3_T f32 f16               : T = T T T               : med3f(a, b, c)
v_med3_num_T f32 f16           : T = T T T               : med3_num(a, b, c)
v_maxmin_num_T f32 f16         : T = T T T               : min_num(max_num(a, b), c)
v_minmax_num_T f32 f16         : T = T T T               : max_num(min_num(a, b), c)
v_mac_f16                      : f16 = f16 f16           : a * b + d
v_fma_legacy_f16               : f16 = f16 f16 f16       : fma(a, b, c)
v_fma_mix_f32                  : f32 = mix mix mix       : fma(a, b, c)
v_fma_mixlo_f16                : f16 = mix mix mix       : to<f16>(fma(a, b, c))
v_fma_mixhi_f16                : f16hi = mix mix mix     : to<f16>(fma(a, b, c))

v_rcp_T f32 f16 f64            : T = T                   : rcp_T(a)
v_rcp_iflag_f32                : f32 = f32               : rcp_f32(a)
v_rsq_T f32 f16 f64            : T = T                   : rsq_T(a)
v_sqrt_T f32 f16 f64           : T = T                   : sqrt_T(a)
v_exp_T f32 f16                : T = T                   : exp_T(a)
v_log_T f32 f16                : T = T                   : log_T(a)
v_sin_T f32 f16                : T = T                   : sin_T(a)
v_cos_T f32 f16                : T = T                   : cos_T(a)
v_trig_preop_f64               : f64 = f64 u32           : trig_preop(a, b)
v_div_scale_T f32 f64          : T mask = T T T          : div_scale_T(a, b, c) ; unmask(div_scaled_T(a, b, c))
v_div_fmas_T f32 f64           : T = T T T               : div_fmas_T(a, b, c, vcc)
v_div_fixup_T f16 f32 f64      : T = T T T               : div_fixup_T(a, b, c)

v_ldexp_fN 16 32               : fN = fN iN              : ldexp_fN(a, b)
v_ldexp_f64                    : f64 = f64 i32           : ldexp_f64(a, b)
v_frexp_mant_T f16 f32 f64     : T = T                   : frexp_mant_T(a)
v_frexp_exp_iN_fN 16 32        : iN = fN                 : frexp_exp_fN(a)
v_frexp_exp_i32_f64            : i32 = f64               : frexp_exp_f64(a)

v_cvt_f32_T f16 f64 u32 i32    : f32 = T                 : to<f32>(a)
v_cvt_f16_f32                  : f16 = f32               : to<f16>(a)
v_cvt_f64_T f32 u32 i32        : f64 = T                 : to<f64>(a)
v_cvt_f16_T u16 i16            : f16 = T                 : to<f16>(to<f32>(a))
v_cvt_u32_T f32 f64            : u32 = T                 : saturate<u32>(a)
v_cvt_i32_T f32 f64            : i32 = T                 : saturate<i32>(a)
v_cvt_u16_f16                  : u16 = f16               : saturate<u16>(a)
v_cvt_i16_f16                  : i16 = f16               : saturate<i16>(a)
v_cvt_nearest_i32_f32          : i32 = f32               : saturate<i32>(floor(a + 0.5f))
v_cvt_floor_i32_f32            : i32 = f32               : saturate<i32>(floor(a))
v_cvt_f32_ubyte0               : f32 = u32               : to<f32>(a & 0xff)
v_cvt_f32_ubyte1               : f32 = u32               : to<f32>(a >> 8 & 0xff)
v_cvt_f32_ubyte2               : f32 = u32               : to<f32>(a >> 16 & 0xff)
v_cvt_f32_ubyte3               : f32 = u32               : to<f32>(a >> 24)
v_cvt_i32_i16                  : i32 = i16               : to<i32>(a)
v_cvt_u32_u16                  : u32 = u16               : to<u32>(a)
v_cvt_pk_rtz_f16_f32           : u32 = f32 f32           : halves(toward_zero(a), toward_zero(b))
v_cvt_pk_i16_i32               : u32 = i32 i32           : halves(narrowed(a), narrowed(b))
v_cvt_pk_u16_u32               : u32 = u32 u32           : halves(narrowed(a), narrowed(b))
v_sat_pk_u8_i16                : u16 = u32               : saturated_bytes(a)
v_cvt_pk_fp8_f32               : u16 = f32 f32           : to<u16>(fp8_of<FNUZ>(a) | fp8_of<FNUZ>(b) << 8)
v_cvt_pk_bf8_f32               : u16 = f32 f32           : to<u16>(bf8_of<FNUZ>(a) | bf8_of<FNUZ>(b) << 8)
v_cvt_f32_fp8                  : f32 = u32               : of_fp8<FNUZ>(a & 0xff)
v_cvt_f32_bf8                  : f32 = u32               : of_bf8<FNUZ>(a & 0xff)
v_cvt_pk_f32_fp8               : u64 = u16      : joined(of_fp8<FNUZ>(to<u32>(a) & 0xff), of_fp8<FNUZ>(to<u32>(a) >> 8))
v_cvt_pk_f32_bf8               : u64 = u16      : joined(of_bf8<FNUZ>(to<u32>(a) & 0xff), of_bf8<FNUZ>(to<u32>(a) >> 8))
v_pack_b32_f16                 : u32 = u16 u16           : to<u32>(a) | to<u32>(b) << 16

v_rndne_T f16 f32 f64          : T = T                   : even(a)
v_floor_T f16 f32 f64          : T = T                   : floor(a)
v_ceil_T f16 f32 f64           : T = T                   : ceil(a)
v_trunc_T f16 f32 f64          : T = T                   : trunc(a)
v_fract_T f16 f32 f64          : T = T                   : fract(a)
"""

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
