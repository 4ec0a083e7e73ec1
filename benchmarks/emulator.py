"""How fast the emulator is, as ratios to NumPy on the same data in the same run.

Run as ``python benchmarks/emulator.py``; no assertion depends on these figures.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from parity import emulator
from parity.cache import Cache
from parity.toolchain import build

KERNELS = Path(__file__).parents[1] / "kernels"
N = 1_000_000
# One thread per element, as hosts launch it; or few threads, each of which goes round the grid-stride loop.
LAUNCHES = (
    ("contiguous", None, -(-N // 1024)),
    ("row-major", (1000, 1), -(-N // 1024)),
    ("row-major, 16 blocks", (1000, 1), 16),
    ("transposed", (1, 1000), -(-N // 1024)),
)


def best(action: Callable[[], object], repeat: int = 7) -> float:
    """Shortest of several durations, in seconds."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        cache = Cache(Path(folder))
        (built,) = build(KERNELS, ["unary"], ["gfx1100"], cache=cache)
        code = built.code_object
        assert code is not None
        kernel = code.kernels["uexp_f32"]
        x = np.random.default_rng(1).standard_normal(N).astype(np.float32)
        numpy = best(lambda: np.exp(x))
        rows = [("numpy exp f32, contiguous", numpy)]
        start = time.perf_counter()
        emulator.Device(cache=cache).prepare(code, ["uexp_f32"])
        cold = time.perf_counter() - start
        for checked in (True, False):
            device = emulator.Device(checked=checked, cache=cache)
            source, target, info = (device.allocate(n, name) for n, name in ((4 * N, "x"), (4 * N, "y"), (32, "info")))
            device.write(source, x)
            for layout, strides, blocks in LAUNCHES:
                if strides:
                    device.write(info, np.array([1000, 1000, *strides], np.uint64))
                args = emulator.pack(kernel, [N, 2, info if strides else None, source, target])
                launch = lambda d=device, a=args, b=blocks: d.launch(  # noqa: E731
                    code, "uexp_f32", grid=(b, 1, 1), block=(1024, 1, 1), args=a
                )
                rows.append((f"emulated, {'checked' if checked else 'unchecked'}, {layout}", best(launch)))
        print(f"{'1e6 elements':38}{'ms':>9}{'M/s':>9}{'x numpy':>9}")
        for name, seconds in rows:
            print(f"{name:38}{seconds * 1e3:9.2f}{N / seconds / 1e6:9.0f}{seconds / numpy:9.2f}")

        device = emulator.Device(cache=cache)
        small = x[:256]

        def case() -> None:
            device.reset()
            source, target = device.allocate(1024, "x"), device.allocate(1024, "y")
            device.write(source, small)
            args = emulator.pack(kernel, [256, 1, None, source, target])
            device.launch(code, "uexp_f32", grid=(1, 1, 1), block=(256, 1, 1), args=args)
            device.read(target)

        numpy_small, whole = best(lambda: np.exp(small), 200), best(case, 200)
        print(f"\n{'256 elements':38}{'us':>9}{'x numpy':>18}")
        print(f"{'numpy':38}{numpy_small * 1e6:9.1f}{1.0:18.2f}")
        print(f"{'allocate, write, launch, read':38}{whole * 1e6:9.1f}{whole / numpy_small:18.2f}")
        print(f"\ntranslate and compile one kernel, cold: {cold:.2f} s")


if __name__ == "__main__":
    main()
