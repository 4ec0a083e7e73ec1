"""Accesses whose type promises an alignment: found at other addresses, where CUDA ends a kernel and AMD does not."""

from __future__ import annotations

import numpy as np
import pytest
from execution import program

from parity import emulator
from parity.cache import Cache, default_root
from parity.toolchain.alignment import with_alignments, without_dumps

SOURCE = """
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <string.h>
#define KERNEL(name, ...) extern "C" __global__ void name(const float* x, float* out) { \\
    const int i = blockIdx.x * blockDim.x + threadIdx.x; __VA_ARGS__ }
#define FOUR(v) v.x + v.y + v.z + v.w
KERNEL(vector_load, float4 v = *reinterpret_cast<const float4*>(x + 4 * i + 1); out[i] = FOUR(v);)
KERNEL(vector_store, *reinterpret_cast<float2*>(out + 2 * i + 1) = make_float2(x[i], 1);)
KERNEL(uniform_vector, float2 v = *reinterpret_cast<const float2*>(x + 1); out[i] = v.x + v.y;)
KERNEL(halves, const __half* h = reinterpret_cast<const __half*>(x) + 2 * i + 1;
       out[i] = __low2float(*reinterpret_cast<const __half2*>(h));)
KERNEL(number_of_8_bytes, out[i] = *reinterpret_cast<const double*>(x + 2 * i + 1);)
KERNEL(number_of_4_bytes, out[i] = *reinterpret_cast<const int*>(reinterpret_cast<const char*>(x) + 4 * i + 2);)
KERNEL(in_shared_memory, __shared__ float s[513]; s[i] = s[i + 128] = s[i + 256] = x[i]; __syncthreads();
       const float* p = s + 2 * (i / 2) + 1; float2 v = *reinterpret_cast<const float2*>(p); out[i] = v.x + v.y;)
KERNEL(aligned_vector, float4 v = *reinterpret_cast<const float4*>(x + 4 * i + 4); out[i] = FOUR(v);)
KERNEL(neighbours, const float* p = x + 4 * i + 1; out[i] = p[0] + p[1] + p[2] + p[3];)
KERNEL(bytes, const unsigned char* p = reinterpret_cast<const unsigned char*>(x) + 4 * i + 1;
       out[i] = p[0] | p[1] << 8 | p[2] << 16 | p[3] << 24;)
KERNEL(copied, float4 v; memcpy(&v, x + 4 * i + 1, sizeof v); out[i] = FOUR(v);)
KERNEL(one_of_a_vector, out[i] = reinterpret_cast<const float4*>(x + 4 * i + 1)->x;)
struct Loose { float x, y, z, w; };
KERNEL(loose, Loose v = reinterpret_cast<const Loose*>(x + 1)[i]; out[i] = FOUR(v);)
"""
FOUND = {
    "vector_load": (16, "x"),
    "vector_store": (8, "out"),
    "uniform_vector": (8, "x"),
    "halves": (4, "x"),
    "number_of_8_bytes": (8, "x"),
    "number_of_4_bytes": (4, "x"),
    "in_shared_memory": (8, "LDS"),
}
FINE = ("aligned_vector", "neighbours", "bytes", "copied", "one_of_a_vector", "loose")


@pytest.fixture(scope="module", params=["gfx1100", "gfx90a"])
def kernels(request, tmp_path_factory):
    """Calls a kernel with 128 threads."""
    cache = Cache(default_root())
    made = program(tmp_path_factory.mktemp("source"), SOURCE, request.param, cache)

    def call(name):
        device, code = emulator.Device(cache=cache), made.built.code_object
        buffers = [device.allocate(4096, each) for each in ("x", "out")]
        device.write(buffers[0], np.ones(1024, np.float32))
        args = emulator.pack(code.kernels[name], buffers)
        device.launch(code, name, grid=(1, 1, 1), block=(128, 1, 1), args=args)

    return call


@pytest.mark.parametrize("name", FOUND)
def test_an_address_that_breaks_the_promise_of_a_type_is_found(kernels, name):
    alignment, memory = FOUND[name]
    with pytest.raises(emulator.MisalignedAccess) as found:
        kernels(name)
    assert found.value.kind == "misaligned access" and found.value.size == alignment
    assert found.value.address % alignment and found.value.buffer == memory
    line = next(n for n, text in enumerate(SOURCE.splitlines(), 1) if f"({name}," in text)
    assert int(found.value.source.partition(":")[2]) in (line, line + 1)
    assert f"promises a multiple of {alignment}: CUDA ends a kernel" in str(found.value)


@pytest.mark.parametrize("name", FINE)
def test_what_the_compiler_made_one_access_of_is_not(kernels, name):
    kernels(name)


LISTING = "\nf:\n; %bb.0:\n\tglobal_load_b64 v[0:1], v0, s[0:1]\n\ts_endpgm\n\tds_load_b32 v1, v0\n.Lfunc_end0:\n"
DUMP = """# *** IR Dump After Branch relaxation pass (branch-relaxation) ***:
# Machine code for function f: NoPHIs
  $vgpr0_vgpr1 = GLOBAL_LOAD_DWORDX2_SADDR $sgpr0_sgpr1, $vgpr0, 0, 0 :: (load (s64) from %ir.5, addrspace 1); a.cu:1:2
  $vgpr1 = DS_READ_B32_gfx9 $vgpr0, 0, 0, implicit $exec :: (load (s32) from %ir.7, align 2, addrspace 3)
# End machine code for function f.

"""


def test_a_listing_has_the_alignment_of_every_access():
    lines = with_alignments(LISTING, DUMP).splitlines()
    assert lines[3].endswith("s[0:1] ; align 8") and lines[5].endswith("v0 ; align 2")


def test_a_function_that_is_not_understood_stays_as_it_is():
    assert with_alignments(LISTING, DUMP.replace("DS_READ", "DX_READ")) == LISTING


def test_what_else_the_compiler_said_is_left():
    assert without_dumps(f"a.cu:1: warning: one\n{DUMP}a.cu:2: error: two\n") == (
        "a.cu:1: warning: one\na.cu:2: error: two\n"
    )
