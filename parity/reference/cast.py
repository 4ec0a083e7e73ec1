"""Reference values of type conversion: CUDA's rules, with AMD's rules as known divergences.

D2 to D6 (``model.divergences``) concern conversions that C++ leaves undefined: NaN and values out of range. CUDA's
rules were measured on an H200. AMD's rules follow from the instructions V_CVT_{I,U}32_F{32,64} and V_CVT_I16_F16, and
from LLVM's expansion of conversions to 64 bits. D19 concerns f8_e4m3: gfx94x hardware has the variant FNUZ, in which
equal bits mean half the value, the largest value is 240, and the only NaN is 0x80 (HIP documentation, "Low precision
floats").
"""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np

from parity.model.dtypes import DTYPES, Array, DType, array_dtype
from parity.reference.expected import Expected
from parity.reference.rounding import store, wide


def cast(x: Array, to: DType) -> Expected:
    """Convert ``x`` to ``to``.

    Integers keep their low bits. Floats round once, to nearest even, and overflow to infinity. Floats to integers
    truncate and saturate; u8 and i16 then keep the low bits of the 32-bit result. f8_e4m3 saturates. The kernels
    convert to it through f32, so that f64 rounds twice; the functions from double to fp8 in CUDA's and AMD's headers
    would round once.
    """
    x = np.asarray(x)
    source = array_dtype(x)
    if source == to:
        return Expected(np.array(x), sign_of_zero=True)
    if to.name == "f8_e4m3":
        single = np.asarray(x).astype(np.float32)
        return Expected(store(wide(single), to), sign_of_zero=True, divergences={"D19": _to_fnuz(single)})
    if source.name == "f8_e4m3":
        expected = _cast(x, source, to)
        other = _cast(x.view(ml_dtypes.float8_e4m3fnuz).astype(np.float32), DTYPES["f32"], to)
        return replace(expected, divergences={**expected.divergences, "D19": other.value})
    return _cast(x, source, to)


def _cast(x: Array, source: DType, to: DType) -> Expected:
    if not source.is_float:
        return Expected(np.asarray(_from_integer(x, to)))
    if to.is_float:
        return Expected(np.asarray(store(wide(x), to)), sign_of_zero=True)
    w = wide(x)
    value = np.asarray(_saturated(w, source, to))
    rules = _amd(w, source, to)
    return Expected(value, divergences={name: np.asarray(other) for name, other in rules.items()})


def _to_fnuz(x: Array) -> Array:
    """Return the bits that saturating FNUZ hardware stores, read as f8_e4m3."""
    stored = np.clip(x, -240, 240).astype(ml_dtypes.float8_e4m3fnuz)
    return stored.view(DTYPES["f8_e4m3"].numpy)


def _from_integer(x: Array, to: DType) -> Array:
    if not to.is_float or to.name in ("f32", "f64"):
        return x.astype(to.numpy)
    if x.dtype.itemsize < 8:
        return store(x.astype(np.float64), to)
    # 64-bit integers: fold the 11 low bits into a sticky bit, so that only the final rounding matters
    exact = np.abs(x.astype(np.float64)) < 2.0**53
    folded = ((x >> x.dtype.type(11)) | ((x & x.dtype.type(2047)) != 0)).astype(np.float64) * 2.0**11
    return store(np.where(exact, x.astype(np.float64), folded), to)


def _saturated(w: Array, source: DType, to: DType) -> Array:
    """CUDA's rule for float64 values of a float type."""
    if to.itemsize < 4:
        via = DTYPES["u32" if to.kind == "uint" else "i32"]
        return _clamped(w, via, 0).astype(to.numpy)
    sign_bit = np.array([1], to.bits) << np.array([8 * to.itemsize - 1], to.bits)
    nan = sign_bit.view(to.numpy)[0] if source.name == "f64" or to.itemsize == 8 else to.numpy.type(0)
    return _clamped(w, to, nan)


def _clamped(w: Array, to: DType, nan: int | np.generic) -> Array:
    """Truncate and saturate; ``nan`` for NaN."""
    low, high = float(to.min), float(to.max)  # the largest 64-bit integers round up to a power of two
    above, below = w >= high, w <= low
    inside = np.where(above | below | np.isnan(w), 0, w)
    limits = np.where(above, to.numpy.type(to.max), np.where(below, to.numpy.type(to.min), inside.astype(to.numpy)))
    return np.where(np.isnan(w), to.numpy.type(nan), limits)


def _amd(w: Array, source: DType, to: DType) -> dict[str, Array]:
    """Return the results of AMD's rules where they differ, by divergence id."""
    if to.itemsize == 8:
        return {"D4" if source.name == "f64" else "D3": _split(w, source, to)}
    if to.name == "u8":
        rules = {"D5": _clamped(w, DTYPES["i32"], 0).astype(np.uint8)}
        if source.name == "f16":
            rules["D6"] = _clamped(w, DTYPES["i16"], 0).astype(np.uint8)
        return rules
    if to.name == "i16" and source.name == "f16":
        return {"D6": _clamped(w, DTYPES["i16"], 0)}
    if to.itemsize == 4 and source.name == "f64":
        return {"D2": _clamped(w, to, 0)}
    return {}


def _split(w: Array, source: DType, to: DType) -> Array:
    """LLVM's conversion to 64 bits by two conversions to 32 bits.

    high = floor(t / 2**32), low = t - high 2**32; a signed result from f32 converts the magnitude and negates.
    """
    whole = np.trunc(w)
    by_magnitude = to.kind == "int" and source.name != "f64"
    size = np.abs(whole) if by_magnitude else whole
    upper = np.floor(size * 2.0**-32)
    lower = size - upper * 2.0**32
    signed_upper = to.kind == "int" and not by_magnitude
    high = _clamped(upper, DTYPES["i32" if signed_upper else "u32"], 0).astype(np.int64).astype(np.uint64)
    low = _clamped(lower, DTYPES["u32"], 0).astype(np.uint64)
    bits = (high << np.uint64(32)) | low
    if by_magnitude:
        bits = np.where(np.signbit(whole), ~bits + np.uint64(1), bits)
    return np.asarray(bits).view(to.numpy)
