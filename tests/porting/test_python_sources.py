"""CUDA code that Python files embed as strings."""

import pytest

from parity.porting import cuda_code, embeds_cuda, find_modules

KERNEL = 'extern "C" __global__ void {name}(int* x) {{ x[0] = 1; }}'


@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param('k = cupy.RawKernel("""\nA\nB\n""", "a")\n', {2: "A", 3: "B"}, id="argument"),
        pytest.param('TEXT = r"""\nA\n"""\n\nk = RawModule(code=TEXT)\n', {2: "A"}, id="variable"),
        pytest.param('m = SourceModule("""A""")\n', {1: "A"}, id="pycuda"),
        pytest.param('load_inline("n", cuda_sources=["""\nA\n""", TEXT])\n', {2: "A"}, id="list"),
        pytest.param('A = """\nA\n"""\nB = """\nB\n"""\nRawModule(A)\nRawModule(B)\n', {2: "A", 5: "B"}, id="two"),
        pytest.param('T = "A"\nRawKernel(T, "a")\nT = "B"\nRawKernel(T, "b")\n', {1: "A", 3: "B"}, id="assigned-twice"),
        pytest.param('T = "A"\nRawKernel(T, "a")\nRawKernel(T, "b")\n', {1: "A"}, id="used-twice"),
        pytest.param(
            'def made(t):\n    return RawKernel(t, "a")\n\nmade("no")\nmade("""__global__""")\n',
            {5: "__global__"},
            id="passed",
        ),
        pytest.param('RawKernel("A\\nB", "a")\nRawModule("""\nC""")\n', {1: "A", 2: "B", 4: "C"}, id="escapes"),
    ],
)
def test_cuda_code_keeps_line_numbers(text, code):
    lines = enumerate(cuda_code(text).splitlines(), 1)
    assert {number: line for number, line in lines if line} == code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param('x = 1\nRawKernel(f"__global__ {x}", "a")\n', "\n#error the CUDA code is computed", id="computed"),
        pytest.param("RawKernel(\n", "#error not a Python source", id="not-python"),
    ],
)
def test_cuda_code_that_is_no_literal_becomes_compile_error(text, code):
    assert cuda_code(text).startswith(code)


def test_python_file_is_module_only_if_it_embeds_cuda(tmp_path):
    (tmp_path / "kernel.py").write_text(f"RawKernel('''{KERNEL.format(name='a')}''', 'a')\n")
    (tmp_path / "host.py").write_text("import cupy\n")
    assert list(find_modules(tmp_path)) == ["kernel"]
    assert not embeds_cuda("class MyRawKernel: pass\n")
