"""Writes a project with a kernel for each of CUDA's device functions: ``python -m benchmarks.device_functions FOLDER``.

``parity run`` in the folder compares AMD's functions with CUDA's. ``parity record --runner cuda`` on an NVIDIA GPU and
``python -m benchmarks.through_ptx`` compare emulated PTX with the GPU, bit for bit. ``device_functions.csv`` lists the
functions by module, with the types of the result and of the arguments; ``*`` stands for each rounding.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from parity.platform.files import read_table

ROUNDINGS = ("rd", "rn", "ru", "rz")
DTYPES = {
    "float": "f32", "double": "f64", "int": "i32", "unsigned": "u32", "long long": "i64", "unsigned long long": "u64",
    "long": "i64", "short": "i16", "unsigned short": "i16", "__half": "f16", "__nv_bfloat16": "bf16",
}  # fmt: skip
SETTINGS = '[tool.parity]\nkernels = "src"\ncases = "cases"\n'
INCLUDES = "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n"
KERNEL = """
extern "C" __global__ void {name}({parameters}, {result}* out, int n) {{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = {function}({arguments});
}}
"""
OP = """
{name}_op = Op(
    "{module}.{name}", kernel="{name}", types=("{dtype}",), args="{tensors} out n:i32=numel",
    inputs={inputs}, outputs={{"out": "{dtype}"}}, grid_stride=False,
)
"""


def main(folder: Path) -> None:
    """Write the sources, the case files and the settings."""
    sources, cases = dict[str, str](), dict[str, str]()
    for module, kernel, op in functions():
        sources[module] = sources.get(module, INCLUDES) + kernel
        cases[module] = cases.get(module, "from parity.op import Op\n") + op
    for name, files in (("src", sources), ("cases", cases)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for module, text in files.items():
            (folder / name / f"{module}.{'cu' if name == 'src' else 'py'}").write_text(text)
    (folder / "pyproject.toml").write_text(SETTINGS)


def functions() -> Iterator[tuple[str, str, str]]:
    """Yield the module, the kernel and the op of each function."""
    seen = Counter[tuple[str, str]]()
    for row in read_table(Path(__file__).with_suffix(".csv")):
        module, result, types = row["module"], row["result"], row["arguments"].split(" | ")
        for function in _names(row["functions"]):
            seen[module, function] += 1  # some functions have several overloads
            count = seen[module, function]
            name = f"of_{function}" + f"_{count}" * (count > 1)
            kernel = KERNEL.format(
                name=name, result=result, function=function,
                parameters=", ".join(f"const {each}* x{k}" for k, each in enumerate(types)),
                arguments=", ".join(f"x{k}[i]" for k in range(len(types))),
            )  # fmt: skip
            inputs = {f"x{k}": DTYPES[each] for k, each in enumerate(types)}
            op = OP.format(module=module, name=name, dtype=DTYPES[result], tensors=" ".join(inputs), inputs=inputs)
            yield module, kernel, op


def _names(functions: str) -> Iterator[str]:
    for each in functions.split():
        yield from dict.fromkeys(each.replace("*", rounding) for rounding in ROUNDINGS)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
