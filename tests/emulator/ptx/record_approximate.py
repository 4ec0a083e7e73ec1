"""Records checksums of a GPU's results for all operands: ``python record_approximate.py FILE``. Needs CuPy and NumPy.

Covers the instructions with one operand of 16 or 32 bits, and the f64 instructions that only read the upper 32 bits.
For the latter, the lower word is the upper word times 2654435761, and both words of a result are combined by OR. For
each instruction, FILE has the CRC-32 of the results for every 2^20 operands. Takes a minute.
"""

from __future__ import annotations

import itertools
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor

import cupy  # type: ignore[import-not-found]
import numpy as np

CHUNK, BATCH = 1 << 20, 1 << 28
UNIT = ["rcp.approx", "rsqrt.approx", "sqrt.approx", "ex2.approx", "lg2.approx", "sin.approx", "cos.approx"]
OF_32_BITS = [f"{name}{ftz}.f32" for name, ftz in itertools.product(UNIT, ("", ".ftz"))] + ["tanh.approx.f32"]
OF_64_BITS = ["rcp.approx.ftz.f64", "rsqrt.approx.ftz.f64"]
OF_16_BITS = ["ex2.approx.f16", "tanh.approx.f16", "ex2.approx.ftz.bf16", "tanh.approx.bf16"]
KERNEL = """
extern "C" __global__ void k%d(unsigned start, unsigned* r) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, x = start + i;
  %s
}
"""
ON_16_BITS = 'unsigned short y; asm("%s %%0, %%1;" : "=h"(y) : "h"((unsigned short)x)); r[i] = y;'
ON_32_BITS = 'float y; asm("%s %%0, %%1;" : "=f"(y) : "f"(__uint_as_float(x))); r[i] = __float_as_uint(y);'
ON_64_BITS = (
    'double y; asm("%s %%0, %%1;" : "=d"(y) : "d"(__hiloint2double(x, x * 2654435761u)));'
    " r[i] = __double2hiint(y) | __double2loint(y);"
)


def main() -> None:
    texts = {
        **dict.fromkeys(OF_32_BITS, ON_32_BITS),
        **dict.fromkeys(OF_64_BITS, ON_64_BITS),
        **dict.fromkeys(OF_16_BITS, ON_16_BITS),
    }
    source = "".join(KERNEL % (k, text % name) for k, (name, text) in enumerate(texts.items()))
    module = cupy.RawModule(code=source)
    found = {}
    for k, name in enumerate(texts):
        count = 1 << (16 if name in OF_16_BITS else 32)
        batch = cupy.empty(min(BATCH, count), np.uint32)
        sums: list[int] = []
        for start in range(0, count, batch.size):
            module.get_function(f"k{k}")((batch.size // 256,), (256,), (np.uint32(start), batch))
            words = batch.get().astype(np.uint16 if name in OF_16_BITS else np.uint32, copy=False)
            with ThreadPoolExecutor() as pool:
                sums += pool.map(zlib.crc32, (words[i : i + CHUNK] for i in range(0, words.size, CHUNK)))
        found[name] = np.array(sums, np.uint32)
        print(name, flush=True)
    np.savez_compressed(sys.argv[1], **found)


if __name__ == "__main__":
    main()
