"""Notes about failures that depend on wavefront width, wavefront order or block size."""

import textwrap
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from parity.build.modules import build
from parity.build.settings import BuildSettings
from parity.compare.verdict import Fact, Status, Verdict
from parity.compilers.compile_options import Sides
from parity.engine.case_records import Column
from parity.engine.checked_case import CheckedCase
from parity.engine.diagnosis import _passes_unlike, passing_wavefront_widths
from parity.engine.plan import Plan, make_tasks, runner_columns
from parity.engine.worker import Worker
from parity.model.case import Case
from parity.reference.expected import Expected
from parity.runners import runner
from parity.suite.loading import load_suite

KERNELS = """
#include <stdint.h>
#define KERNEL extern "C" __global__ void
#define LANE __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0))

/** Each 32 elements rotated by one place, by an exchange that trusts that 32 threads are a wavefront. */
KERNEL rotate_u32(size_t numel, const uint32_t* x, uint32_t* out) {
    const size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    const uint32_t mine = i < numel ? x[i] : 0, next = __builtin_amdgcn_ds_bpermute(4 * (LANE + 1), mine);
    if (i < numel) out[i] = next;
}
#ifdef __HIPCC__  // ports have such a function, because HIP's functions take only masks of 64 bits
__device__ inline uint32_t __shfl_sync(unsigned, uint32_t v, int lane) { return __shfl(v, lane, warpSize); }
#endif
/** Of each 32 elements the first. */
KERNEL first_u32(size_t numel, const uint32_t* x, uint32_t* out) {
    const size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    const uint32_t first = __shfl_sync(0xffffffff, i < numel ? x[i] : 0, 0);
    if (i < numel) out[i] = first;
}
/** x, if wavefronts are served in their order. */
KERNEL ticket_u32(size_t numel, const uint32_t* x, uint32_t* out) {
    __shared__ uint32_t served;
    if (threadIdx.x == 0) served = 0;
    __syncthreads();
    const uint32_t ticket = __hip_atomic_fetch_add(&served, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    if (threadIdx.x < numel) out[threadIdx.x] = x[threadIdx.x] + (ticket != threadIdx.x);
}
/** x, for blocks of 64 threads. */
KERNEL narrow_u32(size_t numel, const uint32_t* x, uint32_t* out) {
    for (size_t i = threadIdx.x; i < numel; i += blockDim.x) out[i] = x[i] + (blockDim.x > 64);
}
/** Never x. */
KERNEL wrong_u32(size_t numel, const uint32_t* x, uint32_t* out) {
    if (threadIdx.x < numel) out[threadIdx.x] = x[threadIdx.x] + 1;
}
/** x, if a register that nothing writes holds 0. */
KERNEL unset_u32(size_t numel, const uint32_t* x, uint32_t* out) {
    uint32_t unset;
    asm volatile("v_mov_b32 %0, v77" : "=v"(unset));
    if (threadIdx.x < numel) out[threadIdx.x] = x[threadIdx.x] + unset;
}
/** Another kernel that hipify translates in two ways. */
KERNEL last_u32(size_t numel, const uint32_t* x, uint32_t* out) {
    if (threadIdx.x < numel) out[threadIdx.x] = __shfl_sync(0xffffffff, x[threadIdx.x], 31);
}
"""
CASES = """
import numpy as np
from parity.op import Op
from parity.reference import Expected

def op(name, reference, **more):
    return Op(f"waves.{name}", kernel=f"{name}_u32", types=("u32",), args="numel x out", inputs={"x": "u32"},
              outputs={"out": "u32"}, shapes="x: n; out: n", grid_stride=False, reference=reference, **more)

def rotated(x):
    padded = np.concatenate([x, np.zeros(32, x.dtype)])
    i = np.arange(x.size)
    return Expected(padded[i // 32 * 32 + (i + 1) % 32])

def firsts(x):
    return Expected(x[np.arange(x.size) // 32 * 32])

rotate = op("rotate", rotated)
first = op("first", firsts)
ticket = op("ticket", Expected, grid=1, block=256)
narrow = op("narrow", Expected, grid=1, block=256, threads=(32, 64, 128, 1024))
wrong = op("wrong", Expected, grid=1, block=256)
unset = op("unset", Expected, grid=1, block=256)
"""


EXCHANGE = "\nk:\n\tds_bpermute_b32 v0, v1, v2\n.Lfunc_end0:"


def code_of(wavefront: int, listing: str = EXCHANGE) -> SimpleNamespace:
    """Return the parts of a code object that the note on widths reads."""
    return SimpleNamespace(kernels={"k": SimpleNamespace(wavefront=wavefront)}, listing=listing, sources=())


def detail(tmp_path, case: str, targets: list[str]) -> dict[str, str]:
    """Return the detail of a case's failure by target; it is empty if the case passes."""
    for folder, name, text in (("kernels", "waves.cu", KERNELS), ("cases", "waves.py", CASES)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(textwrap.dedent(text))
    suite = load_suite(tmp_path / "kernels", tmp_path / "cases")
    columns = {column.target: column for column in runner_columns(runner("emulated"), targets)}
    code = {}
    for built in build(suite.kernels, ["waves"], targets):
        assert built.code_object, built.error
        code["waves", columns[built.target]] = built.code_object
    (task,) = make_tasks(suite.select([case]), columns.values())
    worker = Worker(Plan.of(suite, (task,), code, examples=20), suite)
    return {r.target: "" if r.verdict.passed else r.minimal.verdict.detail for r in worker.run(task)}


def test_kernel_that_requires_wave32_is_diagnosed(tmp_path):
    found = detail(tmp_path, "waves.rotate[u32](x=128~normal@0)", ["gfx1100", "gfx90a"])
    assert found["gfx1100"] == ""
    assert "passes on gfx1100: correct only at width 32, and here a wavefront has 64 lanes" in found["gfx90a"]
    assert "values cross lanes 31 and 32 of a wavefront in ds_bpermute_b32" in found["gfx90a"]


def test_failure_at_both_widths_gives_no_width_note(tmp_path):
    found = detail(tmp_path, "waves.wrong[u32](x=4~normal@0)", ["gfx1100", "gfx90a"])
    assert all("passes on" not in each for each in found.values())


def test_pass_on_one_of_two_targets_does_not_blame_width():
    gfx90a, gfx1100, gfx1201 = (Column("emulated", name) for name in ("gfx90a", "gfx1100", "gfx1201"))
    code = {gfx90a: code_of(64), gfx1100: code_of(32), gfx1201: code_of(32)}
    for passing in (gfx1100, gfx1201):
        assert not list(passing_wavefront_widths("k", gfx90a, code, lambda other, one=passing: other is one))
    assert list(passing_wavefront_widths("k", gfx90a, code, lambda other: True))


def test_width_is_not_blamed_without_exchange_between_lanes(tmp_path):
    """A sum of products is contracted on one target only. Shuffles and ``warpSize`` make the width a cause, unless a
    macro selects code for one of the targets, as in FBGEMM #6014.
    """
    gfx90a, gfx1100 = Column("emulated", "gfx90a"), Column("emulated", "gfx1100")
    (tmp_path / "k.cu").write_text(
        "__global__ void plain(const float* x, float* y) { y[threadIdx.x] = x[0] * x[1] + x[2] * x[3]; }\n"
        '#include "lanes.h"\n#include "chosen.h"\n'
    )
    (tmp_path / "lanes.h").write_text(
        "__global__ void rows(const float* x, float* y) { y[threadIdx.x / warpSize] = x[threadIdx.x]; }\n"
        "__global__ void pairs(const int* x, int* y) { y[threadIdx.x] = __shfl_xor_sync(~0u, x[threadIdx.x], 1); }\n"
    )
    (tmp_path / "chosen.h").write_text(
        "__global__ void chosen(const int* x, int* y) {\n    int sum = x[threadIdx.x];\n#ifdef __gfx1100__\n"
        "    sum += __shfl_xor_sync(~0u, sum, 16);\n#endif\n    y[threadIdx.x] = sum + warpSize;\n}\n"
        "__global__ void assembled(const int* x, int* y) {\n    int sum = x[threadIdx.x];\n#ifdef __gfx90a__\n"
        '    asm("v_add_u32 %0, %0, 1" : "+v"(sum));\n#endif\n    y[threadIdx.x] = sum;\n}\n'
    )
    modules = {"k": tmp_path / "k.cu"}
    code = {each: build(tmp_path, modules, [each.target])[0].code_object for each in (gfx90a, gfx1100)}
    said = {
        name: [
            said for said, _ in passing_wavefront_widths(code[gfx90a].symbol(name), gfx90a, code, lambda other: True)
        ]
        for name in ("plain", "rows", "pairs", "chosen", "assembled")
    }
    assert said["plain"] == ["passes on gfx1100; lanes exchange nothing, so the width of a wavefront is not the cause"]
    width = ["passes on gfx1100: correct only at width 32, and here a wavefront has 64 lanes"]
    assert said["rows"] == said["pairs"] == width
    selected = "passes on gfx1100 with 32 lanes, and with the code that __gfx1100__ at chosen.h:3 selects there"
    assert said["chosen"] == said["assembled"] == [selected]


def test_port_itself_is_among_sources_of_its_code(tmp_path):
    """Otherwise a use of ``warpSize`` in the port would not count, and the width would be called innocent."""
    for folder, name in (("cuda", "k.cu"), ("hip", "k.hip")):
        (tmp_path / folder).mkdir()
        head = "" if folder == "cuda" else "#include <hip/hip_runtime.h>\n"
        (tmp_path / folder / name).write_text(f"{head}__global__ void k(int* x) {{ x[threadIdx.x] = 1; }}\n")
    settings = BuildSettings(replace(Sides(), ported=tmp_path / "hip"))
    (built,) = build(tmp_path / "cuda", {"k": tmp_path / "cuda" / "k.cu"}, ["gfx1100"], settings=settings)
    assert built.code_object, built.error
    assert tmp_path / "hip" / "k.hip" in built.code_object.sources


def test_pass_on_other_vendor_does_not_blame_width():
    gfx90a, gfx1100 = Column("emulated", "gfx90a"), Column("emulated", "gfx1100")
    sm_90 = Column("ptx", "sm_90", vendor="cuda")
    code = {each: code_of(width) for each, width in ((sm_90, 32), (gfx90a, 64), (gfx1100, 32))}
    ((alike, facts),) = passing_wavefront_widths("k", gfx90a, code, lambda other: True)
    assert alike == "passes on gfx1100: correct only at width 32, and here a wavefront has 64 lanes"
    assert facts == (Fact.PASSES_AT_OTHER_WIDTH,)
    assert not list(
        passing_wavefront_widths("k", gfx90a, code, lambda other: other is sm_90)
    )  # gfx1100 fails, so the width is not the cause
    del code[gfx1100]
    ((other, facts),) = passing_wavefront_widths("k", gfx90a, code, lambda other: True)
    assert not facts and other == "passes on sm_90 with 32 lanes; a wavefront has 64 here"


def test_pass_that_accepts_failing_outputs_does_not_blame_width():
    """The oracle's error bound on another target may accept every value there: such a pass proves nothing."""
    got, right = np.array([1.0, np.inf], np.float32), np.array([1.0, 2.0], np.float32)
    case = Case("o", ("f32",), {})
    failing = CheckedCase(case, Verdict(Status.FAIL, "infinity"), "", {}, outputs={"out": got})

    def passing(unspecified):
        expected = {"out": Expected(right, unspecified=np.array([False, unspecified]))}
        return CheckedCase(case, Verdict(Status.PASS), "", {}, expected=expected)

    gfx90a = Column("emulated", "gfx90a")
    assert _passes_unlike(failing, passing(False), gfx90a)
    assert not _passes_unlike(failing, passing(True), gfx90a)


def test_pass_of_helpful_port_is_noted(tmp_path):
    found = detail(tmp_path, "waves.first[u32](x=128~normal@0)", ["gfx1100", "gfx90a"])
    assert found["gfx1100"] == ""
    assert "the port passes with --hipify helpful, which reads waves.cu:18" in found["gfx90a"]
    assert "as: const uint32_t first = __shfl(i < numel ? x[i] : 0, 0, 32);" in found["gfx90a"]
    assert "__shfl(x[threadIdx.x], 31, 32)" not in found["gfx90a"]  # a line of another kernel


def test_failure_of_helpful_port_gives_no_note(tmp_path):
    found = detail(tmp_path, "waves.rotate[u32](x=128~normal@0)", ["gfx90a"])
    assert found["gfx90a"] and "--hipify" not in found["gfx90a"]


def test_dependence_on_wavefront_order_is_diagnosed(tmp_path):
    found = detail(tmp_path, "waves.ticket[u32](x=200~normal@0)", ["gfx1100"])
    assert "depends on the order in which wavefronts run" in found["gfx1100"]


def test_pass_with_smaller_blocks_is_noted(tmp_path):
    found = detail(tmp_path, "waves.narrow[u32](x=200~normal@0)", ["gfx1030"])
    assert "passes with 32, 64 threads per block; fails with 128, 1024 as well" in found["gfx1030"]


@pytest.mark.parametrize("target", ["gfx1100"])
def test_read_of_unwritten_register_is_diagnosed(tmp_path, target):
    found = detail(tmp_path, "waves.unset[u32](x=20~normal@0)", [target])
    assert "never-written read: register v77, first met in v_mov_b32" in found[target]
    assert "(waves.cu:" in found[target]


def test_inline_assembly_weakens_width_note():
    gfx1100, gfx90a = Column("emulated", "gfx1100"), Column("emulated", "gfx90a")
    code = {
        each: code_of(width, "\nk:\n\t;;#ASMSTART\n\tds_bpermute_b32 v0, v1, v2\n")
        for each, width in ((gfx1100, 32), (gfx90a, 64))
    }
    ((said, facts),) = passing_wavefront_widths("k", gfx1100, code, lambda other: True)
    assert not facts and said == "passes on gfx90a with 64 lanes; a wavefront has 32 here"
