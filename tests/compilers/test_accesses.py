"""Annotations of memory accesses: required alignments and names of private arrays."""

from __future__ import annotations

import numpy as np
import pytest
from execution import program

from parity.compilers.accesses import annotated
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.amdgpu.kernarg import pack
from parity.emulator.faults import MemoryFault, MisalignedAccess

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

WIDE = pytest.param("gfx90a", marks=pytest.mark.thorough)
KERNELS_ON = ["gfx1100", WIDE]
PRIVATE_ON = [pytest.param("gfx1030", marks=pytest.mark.thorough), WIDE, "gfx1100"]


@pytest.fixture(scope="module", params=["gfx1100", "gfx90a"])
def kernels(request, tmp_path_factory, cache):
    """Return a function that launches a kernel with 128 threads."""
    made = program(tmp_path_factory.mktemp("source"), SOURCE, request.param, cache)

    def call(name):
        device, code = AmdgpuDevice(cache=cache), made.built.code_object
        buffers = [device.allocate(4096, each) for each in ("x", "out")]
        device.write(buffers[0], np.ones(1024, np.float32))
        args = pack(code.kernels[name], buffers)
        device.launch(code, name, grid=(1, 1, 1), block=(128, 1, 1), args=args)

    return call


@pytest.mark.parametrize("kernels", KERNELS_ON, indirect=True, scope="module")
@pytest.mark.parametrize("name", FOUND)
def test_misaligned_address_is_reported(kernels, name):
    alignment, memory = FOUND[name]
    with pytest.raises(MisalignedAccess) as found:
        kernels(name)
    assert found.value.kind == "misaligned access" and found.value.size == alignment
    assert found.value.address % alignment and found.value.buffer == memory
    line = next(n for n, text in enumerate(SOURCE.splitlines(), 1) if f"({name}," in text)
    assert int(found.value.source.partition(":")[2]) in (line, line + 1)
    assert f"promises a multiple of {alignment}: CUDA ends a kernel" in str(found.value)


@pytest.mark.parametrize("name", FINE)
def test_access_aligned_for_its_type_is_not_reported(kernels, name):
    kernels(name)


PRIVATE = """
struct Pair { int first; double second; };
#define KERNEL(name, ...) extern "C" __global__ void name(const int* at, float* out) { \\
    float weights[60]; double table[3][20]; Pair pairs[40]; \\
    _Pragma("unroll 1") for (int i = 0; i < 60; i++) weights[(i + at[0]) % 60] = table[i % 3][(i + at[0]) % 20] = i; \\
    _Pragma("unroll 1") for (int i = 0; i < 40; i++) pairs[(i + at[0]) % 40] = {i, 1.0}; \\
    const int k = at[1]; __VA_ARGS__ \\
    out[0] = weights[at[2]] + table[at[2]][1] + pairs[at[2]].first; }
template <typename T, int N> __device__ void fill(T (&array)[N], int k) { array[k] = 1; }
__device__ __noinline__ void fill_any(float* array, int k) { array[k] = 1; }
__device__ __noinline__ float of_a_function(const int* at, int k) {
    long long own[50];
    _Pragma("unroll 1") for (int i = 0; i < 50; i++) own[(i + at[0]) % 50] = i;
    return own[k];
}
KERNEL(one_dim, weights[k] = 5;)
KERNEL(two_dims, table[k][1] = 5;)
KERNEL(structs, pairs[k].first = 5;)
KERNEL(inlined, fill(weights, k);)
KERNEL(called, out[1] = of_a_function(at, k);)
KERNEL(moving, for (float* p = weights; p < weights + 60 + k; p++) *p *= 2;)
KERNEL(pointer, fill_any(weights, k);)
"""
NAMED = {
    "one_dim": "weights float[60]",
    "two_dims": "table double[3][20]",
    "structs": "pairs Pair[40]",
    "inlined": "weights float[60]",
    "called": "own long long[50]",
    "moving": "weights float[60]",
    "pointer": None,
}


@pytest.fixture(scope="module", params=["gfx1030", "gfx90a", "gfx1100"])
def private(request, tmp_path_factory, cache):
    return program(tmp_path_factory.mktemp("private"), PRIVATE, request.param, cache)


@pytest.mark.parametrize("private", PRIVATE_ON, indirect=True, scope="module")
@pytest.mark.parametrize("name", NAMED)
def test_access_outside_private_array_names_array(private, name):
    device, code = AmdgpuDevice(traced=True), private.built.code_object
    at, out = device.allocate(12, "at"), device.allocate(8, "out")
    device.write(at, np.array([0, 2000, 1], np.int32))
    with pytest.raises(MemoryFault) as found:
        device.launch(code, name, grid=(1, 1, 1), block=(1, 1, 1), args=pack(code.kernels[name], [at, out]))
    assert (found.value.buffer, found.value.array) == ("scratch of lane 0", NAMED[name])
    if NAMED[name]:
        array, type_ = NAMED[name].split(" ", 1)
        assert f"of `{array}` ({type_}) in kernel '{name}'" in str(found.value)


LISTING = "\nf:\n; %bb.0:\n\tglobal_load_b64 v[0:1], v0, s[0:1]\n\ts_endpgm\n\tds_load_b32 v1, v0\n.Lfunc_end0:\n"
INTERMEDIATE = """--- |
  source_filename = "f.hip"

"""
ARRAYS = """  ; Function Attrs: convergent
  define protected amdgpu_kernel void @f(ptr addrspace(1) %x) #0 !dbg !3 {
  entry:
    %s.i12 = alloca [8 x %"struct.ns::pair.4"], align 16, addrspace(5)
    %other = alloca [2 x [3 x <4 x i8>]], align 16, addrspace(5)
    %ref.tmp = alloca i64, align 8, addrspace(5)
    %wide.sroa.0.0 = alloca [3 x i64], align 8, addrspace(5)
    %at = getelementptr inbounds i8, ptr addrspace(5) %s.i12, i32 16, !dbg !9
    %"a b" = phi ptr addrspace(5) [ %at, %entry ], [ %5, %loop ]
    %5 = getelementptr float, ptr addrspace(5) %"a b", i32 %n
    %both = select i1 %c, ptr addrspace(5) %5, ptr addrspace(5) %other
  }

"""
MACHINE = """
...
---
name:            f
stack:           []
body:             |
  bb.0.entry:
    liveins: $vgpr0, $sgpr0_sgpr1

    $vgpr0_vgpr1 = GLOBAL_LOAD_DWORDX2_SADDR $sgpr0_sgpr1, $vgpr0, 0, 0 :: (load (s64) from %ir.5, addrspace 1)
    $vgpr1 = DS_READ_B32_gfx9 $vgpr0, 0, 0, implicit $exec :: (load (s32) from %ir.7, align 2, addrspace 3)

...
"""
NAMES = {
    '%ir."a b", addrspace 5': "; private s ns::pair[8]",
    "%ir.5 + 32, align 4, addrspace 5": "; private s ns::pair[8]",
    "%ir.other, align 4": "; align 4 ; private other char4[2][3]",
    "%ir.wide.sroa.0.0, addrspace 5": "; private wide long long[3]",
    "%ir.both, addrspace 5": "",
    "%ir.ref.tmp, addrspace 5": "",
    "%ir.x, addrspace 5": "",
    "%stack.1, addrspace 5": "; private ?",
}


@pytest.mark.parametrize("pointer", NAMES)
def test_annotated_adds_private_array_of_every_access(pointer):
    dump = INTERMEDIATE + ARRAYS + MACHINE.replace("%ir.7, align 2, addrspace 3", pointer)
    lines = annotated(LISTING, dump).splitlines()
    assert lines[2:6] == [
        "; private ?", "; private other char4[2][3]", "; private s ns::pair[8]", "; private wide long long[3]",
    ]  # fmt: skip
    assert lines[9] == f"\tds_load_b32 v1, v0 {NAMES[pointer]}".rstrip()


def test_annotated_adds_alignment_of_every_access():
    lines = annotated(LISTING, INTERMEDIATE + MACHINE).splitlines()
    assert lines[3].endswith("s[0:1] ; align 8") and lines[5].endswith("v0 ; align 2")


def test_annotated_with_different_accesses_keeps_function_unchanged():
    assert annotated(LISTING, INTERMEDIATE + MACHINE.replace("DS_READ", "DX_READ")) == LISTING


DUMP = """--- |
  define amdgpu_kernel void @k(ptr addrspace(1) %x) {
    %1 = getelementptr inbounds [1024 x [7 x float]], ptr addrspace(3) @ARRAY, i32 0, i32 %0
    %2 = getelementptr inbounds i8, ptr addrspace(3) %1, i32 4
    store <4 x float> zeroinitializer, ptr addrspace(3) %2, align 16
    ret void
  }
...
---
name:            k
body:             |
    DS_WRITE_B128_gfx9 $vgpr0, $vgpr2, 0, 0, implicit $exec :: (store (s128) into %ir.2, addrspace 3)
...
"""


@pytest.mark.parametrize(("array", "alignment"), [("k.s", ""), ('"k.s"', ""), ("_ZZ1kE1s", " ; align 16")])
def test_private_array_that_compiler_moves_to_lds_has_no_alignment(array, alignment):
    listing = "\nk:\n\tds_write_b128 v0, v[2:5]\n.Lfunc_end0:\n"
    assert annotated(listing, DUMP.replace("ARRAY", array)).splitlines()[-2] == f"\tds_write_b128 v0, v[2:5]{alignment}"
