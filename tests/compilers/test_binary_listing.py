"""Disassembly of code objects that users provide instead of sources."""

import re
from dataclasses import replace

import numpy as np
import pytest
from bundles import bundle

from parity.build.modules import build
from parity.compilers import disassembler
from parity.compilers.binary_listing import disassembled_listing
from parity.compilers.clang import Clang
from parity.compilers.targets import DEFAULT_TARGETS, target
from parity.compilers.toolchain import wheels
from parity.emulator.amdgpu.data_sections import data_image
from parity.emulator.amdgpu.device import AmdgpuDevice
from parity.emulator.amdgpu.kernarg import pack
from parity.emulator.amdgpu.listing import kernel_code
from parity.errors import MissingTool, UsageError
from parity.hip.images import code_object_from_image
from parity.model.code_object import parse
from parity.platform.cache import Cache

SOURCE = """
__device__ const double table[3] = {0.5, -3.0, 7.25};
__device__ float bias[7] = {0, 0, 1.5f};
__device__ float zero[9];

#ifdef __gfx1100__  // a kernel with calls ends with an s_sendmsg there, which the emulator does not support
#define OUTLINED
#else
#define OUTLINED __noinline__
#endif

__device__ OUTLINED float power(float x, unsigned n) {
    float y = x;
    while (n--) y *= x;
    return y;
}

extern "C" __global__ void mixed(size_t n, const float* x, float* y) {
    __shared__ float tile[64];
    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    tile[threadIdx.x] = i < n ? power(x[i], i % 5) : 0.0f;
    __syncthreads();
    bias[5] = 2;
    if (i < n) y[i] = tile[blockDim.x - 1 - threadIdx.x] * table[i % 3] + bias[i % 3] + zero[i % 9];
}

extern "C" __global__ void other(float* x) { x[threadIdx.x] += 1; }
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return Cache(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def compiled(tmp_path_factory, cache):
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "module.cu").write_text(SOURCE)
    results = build(folder, targets=DEFAULT_TARGETS, cache=cache)
    assert not any(built.error for built in results), results
    return {built.target: built.code_object for built in results}


@pytest.fixture(params=["installed", "wheel"])
def tools(request, monkeypatch):
    hidden = "_installed" if request.param == "wheel" else "_from_wheel"
    monkeypatch.setattr(disassembler, hidden, lambda *_: None)
    try:
        return disassembler.find_disassembler()
    except MissingTool as missing:
        pytest.skip(str(missing))


@pytest.fixture
def given(tmp_path, compiled, cache, tools):
    """Return a function that builds a folder with only the given code objects."""

    def read(files, targets=DEFAULT_TARGETS):
        for name, content in files.items():
            (tmp_path / name).write_bytes(content)
        return build(tmp_path, targets=targets, cache=cache)

    read.folder = tmp_path
    return read


@pytest.fixture
def binaries(compiled):
    return {name: code.binary.read_bytes() for name, code in compiled.items()}


def values(code, cache):
    device = AmdgpuDevice(cache=cache, traced=True)
    x, y = device.allocate(400, "x"), device.allocate(400, "y")
    device.write(x, np.linspace(-2, 2, 100, dtype=np.float32))
    args = pack(code.kernels["mixed"], [100, x, y])
    device.launch(code, "mixed", grid=(2, 1, 1), block=(64, 1, 1), args=args)
    return device.read(y).view(np.float32)


def expected():
    x = np.linspace(-2, 2, 100, dtype=np.float32)
    i = np.arange(100)
    tile = np.zeros(128, np.float32)
    tile[:100] = x ** (i % 5 + 1)
    reverse = tile.reshape(2, 64)[:, ::-1].ravel()[:100]
    return reverse * np.array([0.5, -3, 7.25])[i % 3] + np.array([0, 0, 1.5])[i % 3]


def test_disassembled_code_object_computes_like_its_source(given, binaries, compiled, cache):
    names = {"gfx1030": "module-gfx1030.hsaco", "gfx1100": "module.gfx1100.co", "gfx90a": "module.hsaco"}
    results = given({names[target]: content for target, content in binaries.items()})
    # An old LLVM reports an error for a target that it does not support.
    results = [built for built in results if "install a newer LLVM" not in str(built.error)]
    assert {"gfx1030", "gfx90a"} <= {built.target for built in results}
    assert [(built.module, built.target, built.error) for built in results] == [
        ("module", b.target, None) for b in results
    ]
    for built in results:
        assert built.code_object.kernels == compiled[built.target].kernels
        np.testing.assert_allclose(values(built.code_object, cache), expected(), rtol=1e-5)


def test_bundle_has_code_of_each_target(given, binaries, compiled):
    names = ["gfx1030", "gfx90a"]  # an old LLVM does not support gfx1100
    results = given({"module.co": bundle(binaries)}, names)
    assert [built.error for built in results] == [None, None]
    assert [built.code_object.kernels for built in results] == [compiled[each].kernels for each in names]


def test_disassembled_kernel_has_source_lines(given, binaries):
    (built,) = given({"module.hsaco": binaries["gfx90a"]}, ["gfx90a"])
    (look,) = [i for i in kernel_code(built.code_object.listing, "other").instructions if "store" in i.text]
    assert look.source == f"module.cu:{1 + SOURCE[: SOURCE.index('other')].count(chr(10))}"


def test_unusable_code_object_is_an_error(given, binaries):
    good = binaries["gfx1030"]
    unnamed = good[:48] + bytes(4) + good[52:].replace(b"amdhsa.target", b"amdhsa.tarjet")  # no e_flags
    cases = {
        "module.hsaco is for gfx1030, not for gfx90a": good,
        "module.hsaco is cut off: it has 4000 bytes of": good[:4000],
        "module.hsaco is a bundle for gfx1030, not for gfx90a": bundle({"gfx1030": good}),
        "module.hsaco is not a code object: it does not begin like an ELF file": b"BC" + good,
        "has no metadata that names its target": unnamed,
    }
    for message, content in cases.items():
        (built,) = given({"module.hsaco": content}, ["gfx90a"])
        assert message in str(built.error), built


def assembled(listing, folder):
    """Assemble a listing for gfx90a, and return the path of the code object."""
    binary = folder / "module.hsaco"
    (folder / "module.s").write_text(listing)
    Clang(target("gfx90a"), wheels()).assemble(folder / "module.s", binary)
    return binary


def test_kernel_of_size_0_ends_at_the_next_function(compiled, tools, tmp_path):
    binary = assembled(re.sub(r"\t\.size\t(?:mixed|other), .*\n", "", compiled["gfx90a"].listing), tmp_path)
    sized, unsized = map(disassembled_listing, (compiled["gfx90a"].binary, binary))
    for kernel in ("mixed", "other"):
        texts = [[each.text for each in kernel_code(each, kernel).instructions] for each in (sized, unsized)]
        end = texts[0].index("s_endpgm") + 1  # padding and called functions follow
        assert texts[1][:end] == texts[0][:end]


def test_literal_of_an_inline_constant_is_read_or_unknown(compiled, tools, tmp_path):
    # 1.0 as a literal of 4 bytes. LLVM prints lit(0x3f800000) since version 21, and 1.0 before, which has other bytes.
    code = "\nother:\n\t.long 0x7e0002ff, 0x3f800000\n"
    binary = assembled(compiled["gfx90a"].listing.replace("\nother:", code, 1), tmp_path)
    first, *_ = kernel_code(disassembled_listing(binary), "other").instructions
    assert first.text == "v_mov_b32_e32 v0, 0x3f800000" or first.mnemonic == f"not_read_by_llvm_{tools.version}"


def test_branches_to_named_labels_are_read(compiled, tools, tmp_path):
    symbols = compiled["gfx90a"].listing.replace(".LBB", "label_")  # llvm-objdump prints them
    binary = assembled(symbols, tmp_path)
    local, named = map(disassembled_listing, (compiled["gfx90a"].binary, binary))
    assert "s_cbranch" in local
    texts = [[each.text for each in kernel_code(each, "mixed").instructions] for each in (local, named)]
    assert texts[0] == texts[1]


def test_long_branch_becomes_a_branch(compiled, tools, tmp_path):
    code = """
\ts_getpc_b64 s[20:21]
.Lafter:
\ts_add_i32 s22, .Lfar-.Lafter-4, 4
\ts_add_u32 s20, s20, s22
\ts_addc_u32 s21, s21, 0
\ts_setpc_b64 s[20:21]
\ts_nop 5
.Lfar:
"""
    binary = assembled(compiled["gfx90a"].listing.replace("\nother:", f"\nother:{code}"), tmp_path)
    found = disassembled_listing(binary)
    body = found.partition("\nother:")[2].partition(".Lfunc_end")[0].split("\n")
    (branch,) = [line for line in body if line.startswith("\ts_branch")]
    assert body[body.index("\ts_nop 5") + 1] == f"{branch.split()[1]}:"
    assert not any("s_setpc_b64" in line for line in body)


FORWARD = """
\ts_getpc_b64 s[20:21]
.Lafter:
\ts_add_i32 s22, .Lroutine-.Lafter-4, 4
\ts_add_u32 s20, s20, s22
\ts_addc_u32 s21, s21, 0
\ts_branch .Lstart
{routine}
.Lstart:
"""
BACKWARD = """
\ts_branch .Lstart
{routine}
.Lstart:
\ts_getpc_b64 s[20:21]
.Lafter:
\ts_add_i32 s22, .Lroutine-.Lafter-4, 4
\ts_abs_i32 s22, s22
\ts_sub_u32 s20, s20, s22
\ts_subb_u32 s21, s21, 0
"""


@pytest.mark.parametrize("code", [FORWARD, BACKWARD], ids=["forward", "backward"])
def test_kernel_calls_routine_in_its_own_code(code, compiled, tools, tmp_path, cache):
    before, _, other = compiled["gfx90a"].listing.partition("\nother:")
    add = re.search(r"\tv_add_f32_e32 (v\d+), 1.0, \1", other)
    routine = f".Lroutine:\n{add[0]}\n{add[0]}\n\ts_setpc_b64 s[30:31]"
    call = "\ts_swappc_b64 s[30:31], s[20:21]"
    calls = other.replace(add[0], f"{call}\n{call}")
    binary = assembled(f"{before}\nother:{code.format(routine=routine)}{calls}", tmp_path)
    called = parse(disassembled_listing(binary), "module")
    device = AmdgpuDevice(cache=cache)
    x = device.allocate(256, "x")
    device.write(x, np.arange(64, dtype=np.float32))
    args = pack(called.kernels["other"], [x])
    device.launch(called, "other", grid=(1, 1, 1), block=(64, 1, 1), args=args)
    assert device.read(x).view(np.float32).tolist() == [*range(4, 68)]


def test_reads_far_beyond_lds_clear_registers(compiled, tools, tmp_path):
    code = """
\tv_mov_b32_e32 v3, 0xf00000
\tds_read_b32 a0, v3
\tds_read_b32 v1, v3
\ts_nop 5
\tds_read_b32 v1, v3
"""
    binary = assembled(compiled["gfx90a"].listing.replace("\nother:", f"\nother:{code}"), tmp_path)
    body = disassembled_listing(binary).partition("\nother:")[2].split("\n")
    end = body.index("\ts_nop 5")
    assert body[end - 2 : end] == ["\tv_accvgpr_write_b32 a0, 0", "\tv_mov_b32_e32 v1, 0"]
    assert body[end + 1] == "\tds_read_b32 v1, v3"


def test_listing_of_one_kernel_has_all_variables(compiled, tools):
    binary = compiled["gfx90a"].binary
    mixed, other = (disassembled_listing(binary, kernels=[kernel]) for kernel in ("mixed", "other"))
    whole = disassembled_listing(binary)
    assert list(parse(other, "module").kernels) == ["other"]
    assert "\nmixed:" not in other
    images = [data_image(listing) for listing in (whole, mixed, other)]
    assert images[0].content == images[1].content == images[2].content
    for name in ("bias", "zero"):
        assert len({image.symbols[name] for image in images}) == 1
    texts = [[each.text for each in kernel_code(listing, "mixed").instructions] for listing in (whole, mixed)]
    assert texts[0] == texts[1]


def test_target_without_code_object_is_an_error(given, binaries):
    (built,) = given({"module-gfx1030.co": binaries["gfx1030"]}, ["sm_90"])
    assert "module.cu is not there, in its place module-gfx1030.co" in str(built.error)


def test_hip_program_loads_its_own_code_object(binaries, compiled, tools, monkeypatch, tmp_path):
    monkeypatch.setenv("PARITY_CACHE", str(tmp_path))
    assert code_object_from_image(binaries["gfx90a"]).kernels == compiled["gfx90a"].kernels
    with pytest.raises(UsageError, match="parity did not build it, and the code object of 999 bytes is cut off"):
        code_object_from_image(binaries["gfx90a"][:999])


def test_compiled_code_object_is_executed_by_its_listing(tools, monkeypatch, tmp_path):
    monkeypatch.setenv("PARITY_CACHE", str(tmp_path / "cache"))
    for name in ("sources", "given"):
        (tmp_path / name).mkdir()
    (tmp_path / "sources" / "module.cu").write_text(SOURCE)
    (compiled,) = build(tmp_path / "sources", targets=["gfx90a"])
    binary = compiled.code_object.binary.read_bytes()
    (tmp_path / "given" / "module.hsaco").write_bytes(binary)
    (read,) = build(tmp_path / "given", targets=["gfx90a"])
    assert read.code_object.listing != compiled.code_object.listing
    assert code_object_from_image(binary).listing == compiled.code_object.listing


def test_misread_instruction_is_not_guessed(compiled, tools, monkeypatch):
    real = type(tools).lines

    def misread(*arguments):
        for line in real(*arguments):
            yield replace(line, text=line.text.replace("v_mul_f32_e32 v", "v_mul_f32_e32 -v"))

    monkeypatch.setattr(type(tools), "lines", misread)
    listing = disassembled_listing(compiled["gfx1030"].binary)
    assert "not_read_by_llvm" in listing
    assert "-v" not in listing


def test_source_location_does_not_depend_on_llvm_version(given, binaries, monkeypatch):
    real = disassembler.ProgramDisassembler.run
    listings = []
    for spelling in (r"; ./\1", r"; \1"):  # LLVM 14, and newer versions

        def spelled(self, name, *arguments, text=None, spelling=spelling):
            run = real(self, name, *arguments, text=text)
            run.stdout = re.sub(r"(?m)^; (?:\./)?(module\.cu:\d+)$", spelling, run.stdout)
            return run

        monkeypatch.setattr(disassembler.ProgramDisassembler, "run", spelled)
        (given.folder / "module.hsaco").write_bytes(binaries["gfx90a"])
        listings.append(disassembled_listing(given.folder / "module.hsaco"))
    assert listings[0] == listings[1]
    assert "module.cu:" in listings[0]
    assert "./module.cu:" not in listings[0]
