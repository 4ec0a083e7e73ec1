"""The kernels that each module must export, from ``entries.csv``: one row per argument."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

KERNELS = Path(__file__).parents[2] / "kernels"
TABLE = Path(__file__).with_name("entries.csv")


@dataclass(frozen=True)
class Scalar:
    """How a kernel argument is passed: ``size`` in bytes, equal to its alignment, and the PTX type of the parameter."""

    size: int
    ptx: str


# 16-bit and 8-bit floats are structs, which PTX passes as aligned bytes.
SCALARS = {
    "size_t": Scalar(8, ".u64"),
    "int64_t": Scalar(8, ".u64"),
    "double": Scalar(8, ".f64"),
    "uint32_t": Scalar(4, ".u32"),
    "int32_t": Scalar(4, ".u32"),
    "int": Scalar(4, ".u32"),
    "float": Scalar(4, ".f32"),
    "int16_t": Scalar(2, ".u16"),
    "__half": Scalar(2, ".align 2 .b8[2]"),
    "__nv_bfloat16": Scalar(2, ".align 2 .b8[2]"),
    "__nv_fp8_e4m3": Scalar(1, ".align 1 .b8[1]"),
    "uint8_t": Scalar(1, ".u8"),
    "bool": Scalar(1, ".u8"),
}
POINTER = Scalar(8, ".u64")


def entries() -> dict[str, dict[str, list[str]]]:
    """Return the C types of the arguments by module and kernel."""
    modules: dict[str, dict[str, list[str]]] = {}
    with TABLE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            arguments = modules.setdefault(row["module"], {}).setdefault(row["kernel"], [])
            assert int(row["arg_index"]) == len(arguments), row
            arguments.append(row["arg_type"])
    return modules


def passed_as(c_type: str) -> Scalar:
    """Return how an argument of a C type is passed."""
    return POINTER if c_type.endswith("*") else SCALARS[c_type.removeprefix("const ")]
