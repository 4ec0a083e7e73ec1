"""Source discovery: modules of a folder, their ports, and the headers that a source includes."""

import pytest

from parity.compilers.compile_options import CompileOptions
from parity.porting.include_closure import closure
from parity.porting.sources import find_modules, find_ported
from parity.porting.translators import hipified


def files(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return folder


def test_find_modules_prefers_cuda_sources(tmp_path):
    folder = files(tmp_path, "a.cu", "a.hip", "b.hip", "sub/c.cu", "d.cu.hip", "e.cu.cc", "f.cc", "note.txt")
    assert {name: path.name for name, path in find_modules(folder).items()} == {
        "a": "a.cu", "b": "b.hip", "d": "d.cu.hip", "e": "e.cu.cc", "sub/c": "c.cu",
    }  # fmt: skip


def test_find_modules_omits_ported_folder(tmp_path):
    folder = files(tmp_path, "a.cu", "hip/a.cu", "hip/only.hip")
    assert list(find_modules(folder, ported=tmp_path / "hip")) == ["a"]


@pytest.mark.parametrize(
    ("cuda", "hip"),
    [
        ("a.cu", "a.hip"),
        ("a.cu.cc", "a.hip"),
        ("a.cu", "a.cu"),
        ("a.cu", "a.cpp"),
        ("a.cu", "a.cu.hip"),
        ("sub/a.cu", "sub/a.hip"),
        ("cuda/a_cuda_kernel.cu", "hip/a_hip_kernel.hip"),  # names that PyTorch's hipify generates
        ("a_cuda.cu", "a_hip.hip"),
    ],
)
def test_find_ported_matches_names(tmp_path, cuda, hip):
    source, ported = files(tmp_path / "cuda", cuda, "z.cu"), files(tmp_path / "hip", hip, "b.hip", "z.hip")
    assert find_ported(source / cuda, source, ported) == ported / hip


def test_find_ported_prefers_hip_suffix(tmp_path):
    source, ported = files(tmp_path / "cuda", "a.cu"), files(tmp_path / "hip", "a.cpp", "a.cu", "a.hip")
    assert find_ported(source / "a.cu", source, ported) == ported / "a.hip"


def test_find_ported_without_match_is_none(tmp_path):
    source, ported = files(tmp_path / "cuda", "a.cu"), files(tmp_path / "hip", "ab.hip", "sub/a.hip")
    assert find_ported(source / "a.cu", source, ported) is None


def test_closure_contains_forced_headers(tmp_path):
    files(tmp_path, "a.cu", "compat.h", "more/deep.h")
    (tmp_path / "compat.h").write_text('#include "more/deep.h"\n')
    found = closure(tmp_path / "a.cu", CompileOptions(forced=(str(tmp_path / "compat.h"),)), tmp_path, {})
    assert sorted(path.name for path in found.files) == ["a.cu", "compat.h", "deep.h"]


def test_closure_drops_byte_order_mark(tmp_path):
    (tmp_path / "a.cu").write_bytes(b"\xef\xbb\xbfint x;")
    assert closure(tmp_path / "a.cu", CompileOptions(), tmp_path, {}).files == {tmp_path / "a.cu": "int x;"}


@pytest.fixture
def project(tmp_path):
    """Return a checkout with deeply nested kernels and headers in other folders."""
    root = tmp_path / "project"
    files(root, ".git", "include/lib/math.h", "src/cuda/deep/a.cu", "tools/one/twice.h", "tools/two/twice.h")
    files(tmp_path, "outside.cuh")
    return root


def included_by(project, line):
    source = project / "src" / "cuda" / "deep" / "a.cu"
    source.write_text(line + "\n")
    files(project, "include/project.h")
    return closure(source, CompileOptions(), source.parent, {})


@pytest.mark.parametrize("line", ["#include <lib/math.h>", '#include "lib/math.h"', "#include <project.h>"])
def test_closure_finds_headers_in_nearby_folders(project, line):
    found = included_by(project, line)
    assert found.around == (project / "include",)
    assert any(path.is_relative_to(project / "include") for path in found.files)


def test_closure_finds_header_relative_to_a_folder_above(tmp_path):
    """The build names the folder ``cuda``."""
    for name, text in {
        "cuda/part/a.cu": '#include "../common/own.h"\n__global__ void k(int* x) { *x = OWN; }\n',
        "common/own.h": "#define OWN 3\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = closure(tmp_path / "cuda" / "part" / "a.cu", CompileOptions(), tmp_path, {})
    assert found.around == (tmp_path / "cuda",) and tmp_path / "common" / "own.h" in found.files


def test_closure_header_anywhere_in_folder_of_kernels(tmp_path):
    files(tmp_path, "src/part/a.cu", "include/part/a.cuh")
    (tmp_path / "src" / "part" / "a.cu").write_text('#include "a.cuh"\n')
    assert closure(tmp_path / "src" / "part" / "a.cu", CompileOptions(), tmp_path, {}).around == (
        tmp_path / "include" / "part",
    )


def test_closure_distant_header_with_unique_name_is_found(project):
    files(project, "a/b/c/d/far.hh", ".hidden/x/y/z/far.hh")
    assert included_by(project, '#include "c/d/far.hh"').around == (project / "a" / "b",)


def test_closure_several_headers_prefers_nearest(project):
    files(project / "src", "lib/math.h")
    assert included_by(project, '#include "lib/math.h"').around == (project / "src",)


def test_closure_header_in_two_folders_is_ambiguous(project):
    found = included_by(project, '#include "twice.h"')
    assert found.around == ()
    assert found.ambiguous == {"twice.h": (project / "tools" / "one", project / "tools" / "two")}


@pytest.mark.parametrize(
    "line",
    [
        "#include <math.h>",  # of the compiler
        '#include "cuda_runtime.h"',  # of CUDA
        "#include <torch/extension.h>",  # of a library that has a stub
        "#include <sys/time.h>",  # of the system
        '#include "outside.cuh"',  # of another project
    ],
)
def test_closure_foreign_header_is_ignored(project, line):
    files(project / "include", "math.h", "cuda_runtime.h", "torch/extension.h", "sys/time.h")
    assert included_by(project, line).around == ()


def test_closure_found_folder_provides_other_headers(project):
    files(project, "include/helper_math.h")
    source = project / "src" / "cuda" / "deep" / "a.cu"
    source.write_text('#include "helper_math.h"\n#include "lib/math.h"\n')
    assert project / "include" / "helper_math.h" in closure(source, CompileOptions(), source.parent, {}).files


def test_closure_angle_brackets_skip_own_folder(project):
    wrapper = project / "src" / "cuda" / "deep" / "vendors" / "cuda.h"
    wrapper.parent.mkdir(parents=True)
    wrapper.write_text("#include <cuda.h>\n")
    found = included_by(project, '#include "vendors/cuda.h"')
    (hip,) = (each.text for path, each in translated(found).items() if path == wrapper)
    assert hip == "#include <hip/hip_runtime.h>\n"


def translated(found):
    return hipified(found.files, str, found.around)


def test_closure_finds_nearby_headers_in_any_include_order(project):
    deep = project / "src" / "cuda" / "deep"
    (deep / "common.cuh").write_text('#include "lib/math.h"\n')
    (deep / "other.cuh").write_text('#include "common.cuh"\n')
    found = included_by(project, '#include "common.cuh"\n#include "other.cuh"')
    assert found.around == (project / "include",)


def test_closure_prefers_folder_of_build_file(project):
    (project / "src" / "Makefile").write_text("CFLAGS = -I../tools/two\n")
    found = included_by(project, '#include "twice.h"')
    assert (found.around, found.ambiguous) == ((project / "tools" / "two",), {})


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("CMakeLists.txt", "target_include_directories(a PRIVATE ${HERE}/src/one/two/three)\n"),
        ("setup.py", "CUDAExtension('a', s, include_dirs=[os.path.join(this_dir, 'src', 'one/two/three')])\n"),
    ],
)
@pytest.mark.parametrize("line", ["#include <far.hpp>", '#include "far.hpp"'])
def test_closure_finds_header_in_folder_of_build_file(project, file, text, line):
    files(project, "src/one/two/three/far.hpp")
    (project / file).write_text(text)
    assert included_by(project, line).around == (project / "src" / "one" / "two" / "three",)


@pytest.mark.parametrize("line", ["#include <lib/made.h>", '#include "lib/made.h"'])
def test_closure_generates_header_from_template(project, line):
    template = project / "cmake" / "made.h.in"
    files(project, "cmake/made.h.in")
    template.write_text('#cmakedefine USE_CUDA\n#include "lib/math.h"\n')
    (project / "CMakeLists.txt").write_text("configure_file(cmake/made.h.in ${OUT}/lib/made.h)\n")
    found = included_by(project, line)
    path = project / "cmake" / "lib" / "made.h"
    assert found.files[path] == '#define USE_CUDA\n#include "lib/math.h"\n'
    assert project / "include" / "lib" / "math.h" in found.files
    assert found.made["lib/made.h"].template == template


def test_closure_standard_header_is_not_generated(project):
    files(project, "stdint.h.in")
    assert not included_by(project, "#include <stdint.h>").made
    assert included_by(project, '#include "stdint.h"').made


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ('#include "Near.h"', "src/near.h"),
        ('#include "Sub\\Part.h"', "src/sub/part.h"),
        ('#include "../../other/there.h"', "src/Other/there.h"),
        ('#include "../away/far.h"', "elsewhere/Away/Far.h"),
        ("#include <Lib/Tools.h>", "include/lib/tools.h"),
    ],
)
def test_closure_finds_headers_as_windows_does(project, line, path):
    files(project, "src/near.h", "src/sub/part.h", "src/Other/there.h", "elsewhere/Away/Far.h", "include/lib/tools.h")
    found = included_by(project, line)
    assert project / path in found.files
    (made,) = found.made.values()
    assert made.template == project / path and "Windows" in made.advice


def test_closure_leaves_standard_headers_to_the_compiler(project):
    files(project, "src/String.h", "src/Vector", "src/Cuda.h")
    assert not included_by(project, "#include <string.h>\n#include <vector>\n#include <cuda.h>").made
