"""Metadata of listings that the real compiler printed."""

import re

import pytest

from parity.compilers import toolchain
from parity.compilers.clang import Clang
from parity.compilers.targets import target
from parity.compilers.unit import Unit
from parity.errors import UsageError
from parity.model.code_object import Argument, CodeObject, Kernel, MissingKernel, mangled, parse, spelled

SOURCE = """
extern "C" __attribute__((global)) void axpy(unsigned long n, _Float16 a, const _Float16* x, double* y) {
    __attribute__((shared)) static float tile[64];
    unsigned i = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x();
    tile[__builtin_amdgcn_workitem_id_x()] = float(a) * float(x[i]);
    __builtin_amdgcn_s_barrier();
    if (i < n) y[i] = tile[63 - __builtin_amdgcn_workitem_id_x()];
}
extern "C" __attribute__((global)) void nothing() {}
"""


@pytest.fixture(scope="module", params=["gfx1030", "gfx1100", "gfx90a"])
def listing(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("listing")
    (folder / "small.hip").write_text(SOURCE)
    Clang(target(request.param), toolchain.wheels()).compile_listing(Unit(folder / "small.hip"), folder / "small.s")
    return request.param, (folder / "small.s").read_text()


def test_parse_explicit_arguments(listing):
    _, text = listing
    assert parse(text, "small").kernels["axpy"].args == (
        Argument("n", 0, 8, "by_value"),
        Argument("a", 8, 2, "by_value"),
        Argument("x", 16, 8, "global_buffer"),
        Argument("y", 24, 8, "global_buffer"),
    )


def test_parse_argument_name_with_tag_of_llvm_21(listing):
    text, count = re.subn(r"(\.name: +)(?:n|'n'|\"n\")$", r"\1!str n", listing[1], flags=re.M)
    assert count == 1 and parse(text, "small").kernels["axpy"].args[0].name == "n"


def test_parse_hidden_arguments_follow_explicit(listing):
    _, text = listing
    kernel = parse(text, "small").kernels["axpy"]
    assert kernel.hidden[0] == Argument("hidden_block_count_x", 32, 4, "hidden_block_count_x")
    assert all(a.offset + a.size <= kernel.kernarg_bytes for a in (*kernel.args, *kernel.hidden))


def test_parse_resources_and_target(listing):
    name, text = listing
    code = parse(text, "small")
    assert (code.module, code.target) == ("small", name)
    assert list(code.kernels) == ["axpy", "nothing"]
    kernel = code.kernels["axpy"]
    assert kernel.lds_bytes == 256
    assert kernel.scratch_bytes == kernel.spills == 0
    assert kernel.wavefront == (64 if name == "gfx90a" else 32)
    assert kernel.vgprs > 0
    assert kernel.sgprs > 0


def test_parse_kernel_without_arguments(listing):
    _, text = listing
    kernel = parse(text, "small").kernels["nothing"]
    assert kernel.args == kernel.hidden == ()
    assert kernel.kernarg_bytes == 0


def test_digest_identifies_listing(listing):
    _, text = listing
    assert parse(text, "a").digest == parse(text, "b").digest
    assert parse(text, "a").digest != parse(text + "; more\n", "a").digest


def test_parse_listing_without_metadata_raises(listing):
    _, text = listing
    with pytest.raises(UsageError, match=r"module 'small' has no \.amdgpu_metadata"):
        parse(text[: len(text) // 2], "small")
    with pytest.raises(UsageError, match=r"amdgcn-amd-amdhsa"):
        parse("", "small")


def test_parse_truncated_metadata_raises(listing):
    _, text = listing
    cut = text[: text.index(".end_amdgpu_metadata") - 300]
    with pytest.raises(UsageError, match=r"cut off: .*line \d+"):
        parse(cut, "small")


def test_parse_malformed_metadata_names_line(listing):
    _, text = listing
    with pytest.raises(UsageError, match="not YAML"):
        parse(text.replace("amdhsa.target:", "amdhsa.target: ]"), "small")


def test_parse_missing_field_is_named(listing):
    _, text = listing
    with pytest.raises(UsageError, match=r"module 'small': kernels\[0\]: \.kernarg_segment_size is missing"):
        parse(text.replace(".kernarg_segment_size:", ".other:"), "small")
    with pytest.raises(UsageError, match=r"kernels\[1\]: \.wavefront_size is 'x', not a whole number"):
        parse(re.sub(r"(.*\.wavefront_size: *)\d+", r"\1x", text, flags=re.DOTALL), "small")
    with pytest.raises(UsageError, match=r"module 'small': it is 'amdhsa', not an object"):
        parse(re.sub(r"(\t\.amdgpu_metadata\n).*(\t\.end_amd)", r"\1amdhsa\n\2", text, flags=re.DOTALL), "small")


@pytest.mark.parametrize(
    ("symbol", "called", "whole"),
    [
        ("_Z4normILi1024EfEvPT0_", "norm<1024, float>", "norm<1024, float>(float*)"),
        ("_Z4normILb1EEvPf", "norm<true>", "norm<true>(float*)"),
        ("_Z4normILj3EEvPf", "norm<3>", "norm<3>(float*)"),
        (
            "_Z15with_a_functionIXadL_Z7doublediEEEviPi",
            "with_a_function<doubled>",
            "with_a_function<doubled>(int, int*)",
        ),
        ("_Z1kIXadL_ZN2ns3fooEfEEEvPf", "k<ns::foo>", "k<ns::foo>(float*)"),
        (
            "_ZN4acts10act_kernelIfXadL_ZNS_4siluIfEET_RKS2_EELb1EEEvPS2_PS3_i",
            "acts::act_kernel<float, acts::silu<float>, true>",
            "acts::act_kernel<float, acts::silu<float>, true>(float*, float const*, int)",
        ),
        ("_Z1kIJifEEvDpT_", "k<int, float>", "k<int, float>(int, float)"),
        ("_Z1kIDF16_EvPT_", "k<_Float16>", "k<_Float16>(_Float16*)"),
        ("_ZN12_GLOBAL__N_11kIPFffEEEvT_", "(anonymous namespace)::k<float (*)(float)>", None),
        ("_Z1kIZ4mainEUlfE_EvT_", "k<main::{lambda(float)#1}>", None),
        ("_ZN3ops5tableE", "ops::table", None),
        ("_ZN34_INTERNAL_ee0c609a_4_b_cu_2bd530e13ops1kE", "ops::k", None),
        (
            "_ZN34_INTERNAL_ee0c609a_4_b_cu_2bd530e136_GLOBAL__N__ee0c609a_4_b_cu_2bd530e11kE",
            "(anonymous namespace)::k",
            None,
        ),
    ],
)
def test_symbol_has_names_in_source(symbol, called, whole):
    name, *signature = spelled(symbol)
    assert name == called
    assert whole is None or signature == [whole]


def test_variable_is_found_by_its_name_in_the_source():
    inner = "_ZN34_INTERNAL_ee0c609a_4_b_cu_2bd530e13ops5tableE"
    listing = "\n".join(f".const .align 4 .b8 {each}[64];" for each in (inner, "_ZN3ops6tablesE", "table"))
    code = CodeObject("m", "sm_90", listing, {}, "")
    assert [code.variable(name) for name in ("ops::table", "ops::tables", "table", "other")] == [
        inner, "_ZN3ops6tablesE", "table", "other",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "symbols"),
    [
        ("table", ("table", "_ZL5table")),
        ("ops::table", ("_ZN3ops5tableE", "_ZN3opsL5tableE")),
        ("(anonymous namespace)::table", ("_ZN12_GLOBAL__N_15tableE", "_ZN12_GLOBAL__N_1L5tableE")),
    ],
)
def test_symbols_of_variable(name, symbols):
    assert mangled(name) == symbols


@pytest.mark.parametrize("symbol", ["plain", "_Z1kITnPFffEXadL_Z5twicefEEEvPf", "_Znonsense"])
def test_symbol_without_source_name(symbol):
    assert spelled(symbol) == ()


@pytest.mark.parametrize("name", ["k<__nv_bfloat16>", "k<nv_bfloat16>", "k<__hip_bfloat16>", "k< __hip_bfloat16 >"])
def test_symbol_accepts_cuda_spelling_of_types(name):
    kernel = parse(LISTING_OF_TEMPLATE, "m")
    assert kernel.symbol(name) == "_Z1kI14__hip_bfloat16EvPT_"


def test_symbol_accepts_cuda_spelling_of_libraries():
    listing = LISTING_OF_TEMPLATE.replace("_Z1kI14__hip_bfloat16EvPT_", "_Z1kI25hiprandStatePhilox4_32_10Evv")
    assert parse(listing, "m").symbol("k<curandStatePhilox4_32_10>") == "_Z1kI25hiprandStatePhilox4_32_10Evv"
    listing = LISTING_OF_TEMPLATE.replace("_Z1kI14__hip_bfloat16EvPT_", "_Z1kIN6thrust8identityIfEEEvv")
    found = parse(listing, "m").symbol("k<thrust::THRUST_300001_SM_900_NS::identity<float> >")
    assert found == "_Z1kIN6thrust8identityIfEEEvv"
    listing = LISTING_OF_TEMPLATE.replace("_Z1kI14__hip_bfloat16EvPT_", "_Z1kIN7rocwmma9col_majorEEvv")
    assert parse(listing, "m").symbol("k<nvcuda::wmma::col_major>") == "_Z1kIN7rocwmma9col_majorEEvv"


LISTING_OF_TEMPLATE = """\
\t.amdgpu_metadata
---
amdhsa.kernels:
  - .name: _Z1kI14__hip_bfloat16EvPT_
    .kernarg_segment_size: 8
    .sgpr_count: 1
    .vgpr_count: 1
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .args: []
amdhsa.target: amdgcn-amd-amdhsa--gfx1100
...
\t.end_amdgpu_metadata
"""


def test_kernel_with_unknown_callees_has_stack_of_hip():
    dynamic = LISTING_OF_TEMPLATE.replace(".wavefront_size", ".uses_dynamic_stack: true\n    .wavefront_size")
    kernels = [parse(text, "m").kernels["_Z1kI14__hip_bfloat16EvPT_"] for text in (LISTING_OF_TEMPLATE, dynamic)]
    assert [each.scratch_bytes for each in kernels] == [0, 1024]


@pytest.mark.parametrize(
    ("kernels", "message"),
    [(("uexp_f32", "ulog_f32"), "unary has no uexp_f16; did you mean uexp_f32"), ((), "it has no kernels")],
    ids=["similar", "none"],
)
def test_missing_kernel_names_existing_kernels(kernels, message):
    known = {name: Kernel(name, (), 0, 1, 1, 0, 0, 32) for name in kernels}
    with pytest.raises(MissingKernel, match=message):
        CodeObject("unary", "gfx1100", "", known, "digest").kernel("uexp_f16")
