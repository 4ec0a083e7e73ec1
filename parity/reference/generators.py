"""Reference values of random number generators, in the order of the host interfaces of rocRAND and cuRAND.

Sources: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011) for Philox; Marsaglia,
"Xorshift RNGs" (2003) for XORWOW; L'Ecuyer, "Good parameters and implementations for combined multiple recursive random
number generators" (1999) for MRG32k3a; Joe and Kuo (2003) for Sobol. Seeds and orders: documentation and headers of
rocRAND. XORWOW and MRG32k3a interleave the subsequences of 131,072 generators.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from parity.model.dtypes import Array
from parity.reference.expected import Bounds, Expected

GENERATORS = 131_072
_M1, _M2 = 4294967087, 4294944443
_A1 = ((0, 1, 0), (0, 0, 1), (_M1 - 810728, 1403580, 0))
_A2 = ((0, 1, 0), (0, 0, 1), (_M2 - 1370589, 0, 527612))
_Matrix = tuple[tuple[int, ...], ...]


def philox(seed: Any, offset: Any, n: Any) -> Expected:
    """Numbers of Philox4x32-10 (u32): four per value of the counter."""
    positions = np.arange(int(n), dtype=np.uint64) + np.uint64(offset)
    return Expected(_philox(int(seed), positions // 4)[positions % 4, np.arange(int(n))])


def philox_uniform(seed: Any, offset: Any, n: Any) -> Expected:
    """``philox`` as f32 in (0, 1]: (x + 1) / 2**32, where the conversion and the sum round."""
    return _uniform((philox(seed, offset, n).value + 1.0) * 2.0**-32)


def _philox(seed: int, counter: Array) -> Array:
    """Return the four numbers (u32) for each value of the counter, as rows."""
    low, mask = np.uint64(32), np.uint64(2**32 - 1)
    x = [counter & mask, counter >> low, counter * 0, counter * 0]
    keys = [seed & 2**32 - 1, seed >> 32]
    for _ in range(10):
        first, second = x[0] * np.uint64(0xD2511F53), x[2] * np.uint64(0xCD9E8D57)
        x = [second >> low ^ x[1] ^ keys[0], second & mask, first >> low ^ x[3] ^ keys[1], first & mask]
        keys = [(key + step) % 2**32 for key, step in zip(keys, (0x9E3779B9, 0xBB67AE85), strict=True)]
    return np.array(x).astype(np.uint32)


def xorwow(seed: Any, offset: Any, n: Any) -> Expected:
    """Numbers of XORWOW (u32). A subsequence begins 2**67 numbers after the one before."""
    low, high = int(seed) % 2**32, int(seed) >> 32
    t0, t1 = 1228688033 * (low ^ 0x2C7F967F) % 2**32, 2073658381 * (high ^ 0xA03697CB) % 2**32
    words = (123456789 + t0, 362436069 ^ t0, 521288629 + t1, 88675123 ^ t1, 5783321 + t0)
    start = sum(word % 2**32 << 32 * i for i, word in enumerate(words))
    found = np.zeros(int(n), np.uint32)
    for i, (step, subsequence) in enumerate(_places(int(offset), int(n))):
        state, weyl = _jumped(start, subsequence), 6615241 + t0 + t1
        for _ in range(step + 1):
            state, weyl = _xorwow_step(state), weyl + 362437
        found[i] = ((state >> 128) + weyl) % 2**32
    return Expected(found)


def _xorwow_step(state: int) -> int:
    """Return the next five words; the last one is the newest."""
    first, last = state % 2**32, state >> 128
    t = first ^ first >> 2
    return state >> 32 | (last ^ last << 4 ^ t ^ t << 1) % 2**32 << 128


@functools.cache
def _jumps() -> tuple[tuple[int, ...], ...]:
    """Return the matrices over GF(2), as columns, that skip 2**k subsequences of XORWOW."""
    jump = tuple(_xorwow_step(1 << bit) for bit in range(160))
    for _ in range(67):
        jump = tuple(_product(jump, column) for column in jump)
    found = [jump]
    for _ in range(16):
        found.append(tuple(_product(found[-1], column) for column in found[-1]))
    return tuple(found)


def _product(columns: tuple[int, ...], vector: int) -> int:
    total = 0
    while vector:
        bit = vector & -vector
        total ^= columns[bit.bit_length() - 1]
        vector ^= bit
    return total


def _jumped(state: int, subsequences: int) -> int:
    for k, jump in enumerate(_jumps()):
        if subsequences >> k & 1:
            state = _product(jump, state)
    return state


def mrg32k3a_uniform(seed: Any, offset: Any, n: Any) -> Expected:
    """Numbers of MRG32k3a as f32 in (0, 1]. A subsequence begins 2**76 numbers after the one before."""
    value = int(seed) or 12345
    x, y = value % 2**32 ^ 0x55555555, value >> 32 ^ 0xAAAAAAAA
    starts = [x * value % _M1, y * value % _M1, x * value % _M1], [y * value % _M2, x * value % _M2, y * value % _M2]
    found = []
    for step, subsequence in _places(int(offset), int(n)):
        skip = (subsequence << 76) + step + 1
        first, second = (
            _applied(_power(matrix, skip, modulus), start, modulus)[2]
            for matrix, start, modulus in ((_A1, starts[0], _M1), (_A2, starts[1], _M2))
        )
        found.append((first - second) % _M1 or _M1)
    return _uniform(np.array(found) / _M1)


def _power(matrix: _Matrix, exponent: int, modulus: int) -> _Matrix:
    result = None
    while exponent:
        if exponent & 1:
            result = matrix if result is None else _times(matrix, result, modulus)
        matrix, exponent = _times(matrix, matrix, modulus), exponent >> 1
    assert result is not None
    return result


def _times(left: _Matrix, right: _Matrix, modulus: int) -> _Matrix:
    columns = [_applied(left, list(column), modulus) for column in zip(*right, strict=True)]
    return tuple(zip(*columns, strict=True))


def _applied(matrix: _Matrix, vector: list[int], modulus: int) -> list[int]:
    return [sum(a * b for a, b in zip(row, vector, strict=True)) % modulus for row in matrix]


def sobol32(offset: Any, n: Any) -> Expected:
    """The first dimension of Sobol's sequence (u32): the bits of the position's Gray code in reverse order."""
    positions = np.arange(int(n), dtype=np.uint64) + np.uint64(offset)
    gray = positions ^ positions >> np.uint64(1)
    total = np.zeros(int(n), np.uint64)
    for bit in range(32):
        total |= (gray >> np.uint64(bit) & np.uint64(1)) << np.uint64(31 - bit)
    return Expected(total.astype(np.uint32))


def _places(offset: int, count: int) -> Iterator[tuple[int, int]]:
    """Yield the position in its subsequence, and the subsequence, of each number."""
    for position in range(offset, offset + count):
        yield divmod(position, GENERATORS)


def _uniform(exact: Array) -> Expected:
    """f32 within two roundings of the exact value."""
    room = exact * 2.0**-23 * (1 + 2.0**-20)
    bounds = Bounds(exact, 0.0, room, room)
    return Expected(exact.astype(np.float32), lambda _: bounds)
