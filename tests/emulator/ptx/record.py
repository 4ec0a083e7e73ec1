"""Records a GPU's results for every form of ``forms.csv``: ``python record.py FILE [FOLDER]``. Needs CuPy and NumPy.

test_sweep.py compares with FILE. FOLDER receives all results as NumPy arrays by kernel, for inspection.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import cupy  # type: ignore[import-not-found]
import numpy as np
from sweep import BLOCK, TUPLES, Form, Recording, Words, dtype_of, forms, module, operands


def main() -> None:
    wanted = forms()
    results: dict[str, list[Words]] = {}
    placed: dict[tuple[str, int], cupy.ndarray] = {}
    for base, group in itertools.groupby(sorted(wanted, key=lambda form: form.base), key=lambda form: form.base):
        of_base = list(group)
        loaded = cupy.cuda.function.Module()
        loaded.load(module(of_base).encode())
        for form in of_base:
            results[form.kernel] = _run(loaded, form, placed)
        print(base, len(of_base), flush=True)
    Recording.of(wanted, [results[form.kernel] for form in wanted], _environment()).save(Path(sys.argv[1]))
    if len(sys.argv) > 2:
        arrays = {f"{form.kernel}_{i}": array for form in wanted for i, array in enumerate(results[form.kernel])}
        names = sorted(arrays)
        for part in range(4):
            np.savez_compressed(
                Path(sys.argv[2]) / f"results{part}.npz", **{name: arrays[name] for name in names[part::4]}
            )


def _run(loaded: cupy.cuda.function.Module, form: Form, placed: dict[tuple[str, int], cupy.ndarray]) -> list[Words]:
    for position, kind in enumerate(form.sources):
        if (kind, position) not in placed:
            placed[kind, position] = cupy.asarray(operands(kind, position))
    sources = [placed[kind, position] for position, kind in enumerate(form.sources)]
    outs = [cupy.full(TUPLES, 0xCD, dtype_of(kind)) for kind in form.results]
    loaded.get_function(form.kernel)((TUPLES // BLOCK,), (BLOCK,), (*sources, *outs))
    return [out.get() for out in outs]


def _environment() -> str:
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    return f"{name}, compiled by the driver (CUDA {cupy.cuda.runtime.driverGetVersion()})"


if __name__ == "__main__":
    main()
