"""Translators to HIP: the styles of parity's translator, and simulated tools of a ROCm."""

import os

import pytest

from parity.build.modules import build
from parity.build.settings import BuildSettings
from parity.compilers import rocm
from parity.errors import MissingTool, UsageError
from parity.platform.cache import Cache
from parity.porting.translators import HIPIFY, TranslationError, chosen_hipifier, hipified, hipifier_fingerprint

# Writes its arguments into a comment, so that the tests recognize its output.
PERL = """#!/bin/sh
echo "// translated: $1"
sed 's/cudaFree/hipFree/g' "$1"
echo "  warning: $1:2: unsupported device function \\"__frob\\": x = __frob(y);" >&2
"""
CLANG = """#!/bin/sh
shift; while [ "$1" != "-o" ]; do shift; done
echo "// $*" | sed "s#$2#OUT#" > "$2"
"""
BROKEN = "#!/bin/sh\necho 'no such thing' >&2\nexit 3\n"


# Ports define such functions themselves, because HIP's functions only take masks of 64 bits.
SUMS = """
#ifdef __HIPCC__
template <class T> __device__ T __shfl_down_sync(unsigned, T v, unsigned d) { return __shfl_down(v, d, warpSize); }
#endif
extern "C" __global__ void sums(const int* x, int* out) {
    int v = x[threadIdx.x];
    for (int d = 16; d; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
    out[threadIdx.x] = v;
}
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Return a function that installs a simulated ROCm with the given tools (name and script)."""

    def install(**tools):
        root = tmp_path / "rocm"
        (root / "bin").mkdir(parents=True)
        (root / "include" / "hip").mkdir(parents=True)
        (root / "include" / "hip" / "hip_version.h").write_text("#define HIP_VERSION_MAJOR 6\n")
        for name, text in {"hipcc": "#!/bin/sh\n", **tools}.items():
            path = root / "bin" / name.replace("_", "-")
            path.write_text(text)
            path.chmod(0o755)
        monkeypatch.setenv("ROCM_PATH", str(root))
        return root

    return install


@pytest.fixture
def program(tmp_path):
    """Return a function that translates the files of a program, given by name and text, to HIP."""
    folder = tmp_path / "src"

    def translate(hipifier="literal", flags=(), **files):
        texts = {folder / name.replace("__", "/").replace("_", "."): text for name, text in files.items()}
        found = hipified(texts, lambda path: path.relative_to(folder).as_posix(), [folder / "inc"], flags, hipifier)
        return {path.relative_to(folder).as_posix(): each for path, each in found.items()}

    return translate


def test_hipified_recognizes_headers_of_program(program):
    source = '#include "cuda.h"\n#include <cuda_fp16.h>\n#include "more/cuda.h"\n#include <cub/cub.cuh>'
    found = program(m_cu=source, cuda_h="", inc__cub__cub_cuh="")
    assert found["m.cu"].text == source.replace("cuda_fp16.h", "hip/hip_fp16.h")


def test_hipified_macros_decide_conditions(program):
    header = "#ifndef A\n#define A\n#define NEW 800\n#ifdef X\n#define MAYBE 1\n#endif\n#endif"
    source = "#if __CUDA_ARCH__ >= NEW\n#endif\n#if __CUDA_ARCH__ || MAYBE\n#endif"
    first, second = program(m_cu=source, a_h=header)["m.cu"].branches
    assert "not defined for AMD" in first.advice and "depends" not in first.advice
    assert "which branch is taken depends on MAYBE" in second.advice
    first, second = program(flags=["-D__CUDA_ARCH__=890"], m_cu=source, a_h=header)["m.cu"].branches
    assert first.advice == second.advice == "__CUDA_ARCH__ is 890"


def test_hipified_constant_with_two_values_is_unknown(program):
    branches = program(m_cu="#if __CUDA_ARCH__ > N\n#endif", a_h="#define N 1", b_h="#define N 2")["m.cu"].branches
    assert "depends on N" in branches[0].advice


def test_hipify_perl_translates_every_file(installed, program):
    installed(hipify_perl=PERL)
    found = program("hipify-perl", m_cu="cudaFree(p);\n#ifdef __CUDA_ARCH__\n#endif\n", a_cuh="cudaFree(q);\n")
    assert found["m.cu"].text.startswith("// translated: ") and "\nhipFree(p);\n" in found["m.cu"].text
    assert "hipFree(q)" in found["a.cuh"].text
    (finding,) = found["m.cu"].unmapped
    assert (finding.name, finding.file, finding.line) == ("__frob", "m.cu", 2)
    assert len(found["m.cu"].branches) == 1


def test_hipify_clang_gets_include_folders(installed, program, tmp_path):
    installed(hipify_clang=CLANG)
    text = program("hipify-clang", m_cu="int a;\n")["m.cu"].text
    assert text == f"// -o OUT -- -x cuda -I {tmp_path / 'src'} -I {tmp_path / 'src' / 'inc'}\n"


def test_tool_outside_rocm_is_found_on_path(installed, program, tmp_path, monkeypatch):
    installed().joinpath("bin", "hipcc").rename(tmp_path / "hipify-perl")
    (tmp_path / "hipify-perl").write_text(PERL)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert "\nhipFree(p);\n" in program("hipify-perl", m_cu="cudaFree(p);\n")["m.cu"].text


def test_missing_tool_is_named(installed, monkeypatch):
    installed()
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingTool, match=r"hipify-perl.*looked for the bin folder of a ROCm, PATH"):
        hipifier_fingerprint("hipify-perl")


def test_failing_tool_output_is_quoted(installed, program):
    installed(hipify_perl=BROKEN)
    with pytest.raises(TranslationError, match=r"hipify-perl cannot translate m\.cu: no such thing"):
        program("hipify-perl", m_cu="int a;")


def test_hipifier_fingerprint_contains_tool(installed):
    root = installed(hipify_perl=PERL)
    before = hipifier_fingerprint("hipify-perl")
    (root / "bin" / "hipify-perl").write_text(PERL + "# another version\n")
    assert (
        len(
            {
                before,
                hipifier_fingerprint("hipify-perl"),
                hipifier_fingerprint("literal"),
                hipifier_fingerprint("helpful"),
            }
        )
        == 4
    )


def test_chosen_hipifier_reads_environment(monkeypatch):
    monkeypatch.delenv(HIPIFY, raising=False)
    assert chosen_hipifier() == "literal"
    monkeypatch.setenv(HIPIFY, "helpful")
    assert chosen_hipifier() == "helpful"
    assert chosen_hipifier("hipify-perl") == "hipify-perl"
    monkeypatch.setenv(HIPIFY, "helpfull")
    with pytest.raises(UsageError, match=r"helpfull is not a translator: literal helpful .* did you mean helpful"):
        chosen_hipifier()


@pytest.fixture
def warps(tmp_path):
    """Return a folder with a kernel whose literal port sums over the whole wavefront."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "sums.cu").write_text(SUMS)
    return folder


def test_build_caches_each_translation(warps, tmp_path):
    cache = Cache(tmp_path / "cache")
    found = {}
    for hipifier in ("literal", "helpful"):
        (found[hipifier],) = build(warps, ["sums"], ["gfx90a"], cache=cache, settings=BuildSettings(hipifier=hipifier))
        assert found[hipifier].error is None, found[hipifier].error
    (again,) = build(warps, ["sums"], ["gfx90a"], cache=cache)
    assert again.cached and again.code_object.digest == found["literal"].code_object.digest
    assert "__shfl_down_sync(0xffffffff, v, d)" in again.hip.read_text()
    assert "__shfl_down(v, d, 32)" in found["helpful"].hip.read_text()
    for each in found.values():
        (difference,) = each.translation.spelled_out
        assert (difference.line, difference.advice) == (7, "for (int d = 16; d; d /= 2) v += __shfl_down(v, d, 32);")


def test_build_suggests_helpful_style(warps, tmp_path):
    (warps / "sums.cu").write_text(
        SUMS.replace("return __shfl_down", 'static_assert(sizeof(T) == 1, "64 lanes"); return')
    )
    (built,) = build(warps, ["sums"], ["gfx90a"], cache=Cache(tmp_path / "cache"))
    assert "it compiles with --hipify helpful, which reads sums.cu:7 as: for (int d = 16; d;" in str(built.error)
    assert "64 lanes" in str(built.error)


def test_build_missing_tool_is_error(installed, warps, monkeypatch, tmp_path):
    installed()
    monkeypatch.setenv(rocm.VARIABLE, "wheels")
    with pytest.raises(MissingTool, match="hipify-clang"):
        build(
            warps,
            ["sums"],
            ["gfx90a"],
            cache=Cache(tmp_path / "cache"),
            settings=BuildSettings(hipifier="hipify-clang"),
        )


def test_build_refused_translation_is_compile_error(installed, warps, monkeypatch, tmp_path):
    installed(hipify_perl=BROKEN)
    monkeypatch.setenv(rocm.VARIABLE, "wheels")
    (built,) = build(
        warps, ["sums"], ["gfx90a"], cache=Cache(tmp_path / "cache"), settings=BuildSettings(hipifier="hipify-perl")
    )
    assert "hipify-perl cannot translate sums.cu: no such thing" in str(built.error)
