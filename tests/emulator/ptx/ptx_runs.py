"""Builds and launches PTX modules with single kernels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from parity.compilers.ptx_code_object import parse_ptx
from parity.compilers.targets import target
from parity.emulator.amdgpu.kernarg import pack
from parity.emulator.launch_options import LaunchOptions
from parity.emulator.ptx.device import PtxDevice

HEAD = """
.version 8.0
.target sm_90
.address_size 64
"""


def module(*parts: str) -> str:
    """Return the text of a module with text outside of functions, and kernels."""
    return HEAD + "\n".join(parts)


def kernel(body: str, params: int = 2, name: str = "k") -> str:
    """Return a kernel with ``params`` pointers. ``%x`` and ``%y`` point to the thread's 4 bytes in the first two."""
    declared = ",\n".join(f".param .u64 {name}_{i}" for i in range(params))
    pointers = "\n".join(
        f"ld.param.u64 %b{i}, [{name}_{i}]; mad.wide.u32 %{letter}, %i, 4, %b{i};"
        for i, letter in zip(range(params), "xyz", strict=False)
    )
    return f"""
.visible .entry {name}({declared})
{{
    .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<30>; .reg .f32 %f<9>; .reg .b64 %d<9>; .reg .f64 %e<9>;
    .reg .b64 %b<4>; .reg .b64 %x, %y, %z; .reg .b32 %t, %i, %n, %g;
    mov.u32 %t, %tid.x; mov.u32 %n, %ntid.x; mov.u32 %g, %ctaid.x; mad.lo.u32 %i, %g, %n, %t;
    {pointers}
{body}
    ret;
}}
"""


def run(text, cache, *arrays, grid=1, block=32, seed=0, name="k", budget=200_000, shared=0, shuffled=False, **facts):
    """Launch a kernel with these ``facts`` in its code object. Returns the arrays afterwards, and the printed text."""
    code = parse_ptx(text, "module", target("sm_90"))
    code = replace(code, kernels={key: replace(each, **facts) for key, each in code.kernels.items()})
    device = PtxDevice(traced=True, cache=cache, instruction_budget=budget)
    buffers = [device.allocate(array.nbytes, f"buffer {i}") for i, array in enumerate(arrays)]
    for buffer, array in zip(buffers, arrays, strict=True):
        device.write(buffer, array)
    device.launch(
        code,
        name,
        grid=(grid, 1, 1),
        block=(block, 1, 1),
        args=pack(code.kernels[name], buffers),
        shared_bytes=shared,
        options=LaunchOptions(seed, shuffled_lanes=shuffled),
    )
    found = [device.read(b).view(a.dtype).reshape(a.shape) for b, a in zip(buffers, arrays, strict=True)]
    return found, device.take_printed()


def u32(*values):
    return np.array(values, np.uint32)
