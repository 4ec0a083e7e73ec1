"""The launches of a reproducer as C code: the API calls of both vendors, buffers, and kernel arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from parity.model.launch import Launch, Pointer, Scalar, Struct
from parity.op import Call, Entry

CUDA = {
    "header": "<cuda.h>", "error": "CUresult", "memory": "CUdeviceptr", "module": "CUmodule", "function": "CUfunction",
    "allocate": "cuMemAlloc", "upload": "cuMemcpyHtoD", "download": "cuMemcpyDtoH", "load": "cuModuleLoad",
    "find": "cuModuleGetFunction", "variable": "cuModuleGetGlobal", "launch": "cuLaunchKernel",
    "synchronize": "cuCtxSynchronize", "host": "",
}  # fmt: skip
HIP = {
    "header": "<hip/hip_runtime_api.h>", "error": "hipError_t", "memory": "hipDeviceptr_t", "module": "hipModule_t",
    "function": "hipFunction_t", "allocate": "hipMalloc", "upload": "hipMemcpyHtoD", "download": "hipMemcpyDtoH",
    "load": "hipModuleLoad", "find": "hipModuleGetFunction", "variable": "hipModuleGetGlobal",
    "launch": "hipModuleLaunchKernel", "synchronize": "hipDeviceSynchronize", "host": "(void *)",
}  # fmt: skip
"""The names that the program of a side uses (CUDA driver API, HIP module API). ``host`` is a cast of host memory."""


def buffer_table(call: Call, name: str) -> dict[str, Any]:
    """Return the values that the C template needs for a buffer."""
    buffer = call.buffers[name]
    return {
        "name": name,
        "size": buffer.data.nbytes,
        "itemsize": buffer.dtype.itemsize,
        "count": len(buffer.data),
        "writable": buffer.writable,
        "compared": name in call.outputs,
        "about": f"{buffer.dtype} x {len(buffer.data)}",
    }


def launch_tables(entry: Entry, call: Call, launch: Launch) -> Iterator[dict[str, Any]]:
    """Yield the values that the C template needs for each launch, with the arguments as C declarations."""
    sizes = {name: buffer.dtype.itemsize for name, buffer in call.buffers.items()}
    for step, each in zip(entry.op.steps, launch.sequence, strict=True):
        yield {
            "text": str(replace(each, then=())),
            "symbol": each.kernel,
            "grid": each.grid,
            "block": each.block,
            "shared": each.shared_bytes,
            "arguments": [
                f"{_declaration(arg, f'argument_{n}', sizes)} /* {word.name}: {arg} */"
                for n, (word, arg) in enumerate(zip(step.arguments, each.args, strict=True), 1)
            ],
        }


def _declaration(arg: Pointer | Scalar | Struct, name: str, sizes: Mapping[str, int]) -> str:
    """Return an argument as a C variable with the same bytes. Structs have the layout that ``Struct`` documents."""
    if not isinstance(arg, Struct):
        return f"{_c_type(arg)} {name} = {_value(arg, sizes)};"
    fields = " ".join(
        f"{_c_type(value)} {field}{f'[{len(value)}]' if isinstance(value, tuple) else ''};"
        for field, value in arg.fields
    )
    return f"struct {{ {fields} }} {name} = {{{', '.join(_value(value, sizes) for _, value in arg.fields)}}};"


def _c_type(value: Pointer | Scalar | tuple[Scalar, ...]) -> str:
    first = value[0] if isinstance(value, tuple) else value
    return "uint64_t" if isinstance(first, Pointer) else f"uint{8 * first.dtype.itemsize}_t"


def _value(value: Pointer | Scalar | tuple[Scalar, ...], sizes: Mapping[str, int]) -> str:
    if isinstance(value, tuple):
        return f"{{{', '.join(_value(each, sizes) for each in value)}}}"
    if isinstance(value, Pointer):
        return f"(uintptr_t)memory_{value.buffer} + {value.offset * sizes[value.buffer]}" if value.buffer else "0"
    number = int.from_bytes(value.bytes, "little")
    return f"0x{number:x}" if value.dtype.is_float or value.value < 0 else str(number)
