"""Macros, include folders and generated headers from a project's build files."""

import pytest

from parity.porting.build_files import folders_of, named_folder, same_statement, standard_of, standard_used, switches_of
from parity.porting.header_templates import GeneratedHeader, made_header
from parity.porting.includes import project_of


@pytest.fixture
def project(tmp_path):
    """Return the root of a project whose source is two folders below it."""
    (tmp_path / ".git").mkdir()
    source = tmp_path / "src" / "cuda" / "area.cu"
    source.parent.mkdir(parents=True)
    source.write_text("")
    return tmp_path


def found(project, name="GPU"):
    source = project / "src" / "cuda" / "area.cu"
    for switch in switches_of([name], source, project_of(source.parent)):
        return switch.flag, switch.file.relative_to(project).as_posix(), switch.line
    return None


@pytest.mark.parametrize(
    "flag",
    ["f'-DGPU={size} -O3'", "f'-DGPU={self.size}'", "'-DGPU=%d' % size", "'-DGPU=' + str(size)"],
)
def test_switches_of_run_time_value_is_guessed(project, flag):
    (project / "model.py").write_text(f"size = len(heads)\nload('area.cu', extra_cuda_cflags=[{flag}])\n")
    source = project / "src" / "cuda" / "area.cu"
    (switch,) = switches_of(["GPU"], source, project_of(source.parent))
    assert (switch.flag, switch.line) == ("-DGPU=64", 2)
    assert switch.why == "a guess: model.py:2 sets it to its size when it runs"
    (project / "setup.py").write_text("# of area.cu\nflags = ['-DGPU=8']\nsource = 'area.cu'\n")
    assert found(project) == ("-DGPU=8", "setup.py", 2)


@pytest.mark.parametrize(
    ("file", "text", "flag"),
    [
        ("Makefile", "COMMON += -DGPU -Iinclude\n", "-DGPU"),
        ("Makefile", "TILE ?= 16  # elements\nCFLAGS = -DGPU=$(TILE)\n", "-DGPU=16"),
        ("setup.py", "CUDAExtension('x', s, extra_compile_args={'nvcc': ['-O3', '-DGPU=2']})\n", "-DGPU=2"),
        ("setup.py", "define_macros += [('GPU', None)]\n", "-DGPU"),
        ("setup.py", "define_macros = [('OTHER', '1'), ('GPU', '64')]\n", "-DGPU=64"),
        ("src/model.py", 'T_MAX = 1024\nload(sources=["cuda/area.cu"], flags=[f"-DGPU={T_MAX}"])\n', "-DGPU=1024"),
        ("CMakeLists.txt", "if(X)\n  add_definitions(-DGPU)\nendif()\n", "-DGPU"),
        ("CMakeLists.txt", "target_compile_definitions(area\n  PRIVATE OTHER GPU=3)\n", "-DGPU=3"),
        ("CMakeLists.txt", "set(TILE 8)\nadd_compile_definitions(GPU=${TILE})\n", "-DGPU=8"),
        ("cmake/cuda.cmake", 'set(CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS} -DGPU")\n', "-DGPU"),
        ("src/compile.sh", "# build\nnvcc area.cu -c -O2 -DGPU=1 -x cu\n", "-DGPU=1"),
        ("src/BUILD.bazel", 'cc_library(name = "x", defines = ["GPU=1"])\n', "-DGPU=1"),
        ("README.md", "## Build\n```bash\nnvcc -O3 \\\n    -D GPU=3 \\\n    -o area main.cu\n```\n", "-DGPU=3"),
        ("src/meson.build", "add_project_arguments('-DGPU', language: 'cuda')\n", "-DGPU"),
    ],
)
def test_switches_of_defined_macro_returns_flag_and_location(project, file, text, flag):
    (project / file).parent.mkdir(exist_ok=True)
    (project / file).write_text(text)
    assert found(project) == (flag, file, next(i for i, line in enumerate(text.splitlines(), 1) if "GPU" in line))


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("Makefile", "# CFLAGS += -DGPU\n"),
        ("Makefile", "CFLAGS += -DGPUS -DWITH-DGPU\n"),
        ("Makefile", "CFLAGS += -DGPU=$(TILE)\n"),  # the value of TILE is unknown
        ("Makefile", "TILE = 1\nTILE = 2\nCFLAGS += -DGPU=$(TILE)\n"),
        ("setup.py", "cmake_args += ' -DGPU=OFF'\n"),  # an option of CMake, not of the compiler
        ("CMakeLists.txt", 'option(GPU "with a GPU" ON)\nif(GPU)\nendif()\n'),
        ("tools/nets/deep/model.py", 'load(sources=["area.cu"], flags=["-DGPU"])\n'),  # too far from the source
        ("tools/model.py", 'load(sources=["other.cu"], flags=["-DGPU"])\n'),  # flags of other sources
        ("notes.txt", "-DGPU\n"),
    ],
)
def test_switches_of_ignores_other_text(project, file, text):
    (project / file).parent.mkdir(exist_ok=True, parents=True)
    (project / file).write_text(text)
    assert found(project) is None


def test_switches_of_several_values_lists_others(project):
    (project / "Makefile").write_text("a: -DGPU=2\nb: -DGPU=1\nc: -DGPU=2\nd: -DGPU=3\n")
    source = project / "src" / "cuda" / "area.cu"
    (switch,) = switches_of(["GPU"], source, project_of(source.parent))
    assert (switch.flag, switch.line, switch.others) == ("-DGPU=2", 1, ("-DGPU=1", "-DGPU=3"))


def test_switches_of_agreeing_makefiles_is_accepted(project):
    for name in ("cpu", "gpu", "large"):
        (project / "build" / name).mkdir(parents=True)
    (project / "build" / "gpu" / "Makefile").write_text("FLAGS = -DGPU -O3\n")
    (project / "build" / "large" / "Makefile").write_text("FLAGS = -DGPU -DLARGE\n")
    assert found(project) == ("-DGPU", "build/gpu/Makefile", 1)
    (project / "build" / "cpu" / "Makefile").write_text("FLAGS = -DGPU=0\n")
    assert found(project) is None


def test_switches_of_prefers_nearest_file(project):
    (project / "Makefile").write_text("CFLAGS = -DGPU=1\n")
    (project / "src" / "Makefile").write_text("CFLAGS = -DGPU=2\n")
    assert found(project) == ("-DGPU=2", "src/Makefile", 1)


@pytest.mark.parametrize(
    ("file", "text", "flag"),
    [
        ("setup.py", "nvcc = ['-O3', '-std=c++20']\n", "-std=c++20"),
        ("Makefile", "A = -std=c++14\nNVCCFLAGS = -std=gnu++2a\n", "-std=c++20"),
        ("CMakeLists.txt", "set(CMAKE_CUDA_STANDARD 20)\n", "-std=c++20"),
        ("CMakeLists.txt", "set_target_properties(a PROPERTIES CUDA_STANDARD 23)\n", "-std=c++20"),  # nvcc refuses 23
        ("CMakeLists.txt", "target_compile_features(a PUBLIC cxx_std_20)\n", "-std=c++20"),
        ("CMakeLists.txt", "# set(CMAKE_CUDA_STANDARD 20)\n", None),
        ("CMakeLists.txt", "set(CMAKE_CXX_STANDARD 17)\n", None),  # the default standard
        ("Makefile", "NVCCFLAGS = -std=c++98\n", None),
        ("Makefile", "NVCCFLAGS = -std=c++1y\n", None),
    ],
)
def test_standard_of_returns_only_standards_newer_than_cpp17(project, file, text, flag):
    (project / file).write_text(text)
    source = project / "src" / "cuda" / "area.cu"
    found = standard_of(source, project_of(source.parent))
    assert (found and found.flag) == flag
    assert not found or str(found.line) == str(text.count("\n"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\ntemplate <class T>\nconcept Number = sizeof(T) > 1;\n", 3),
        ("template <class T> requires (sizeof(T) > 1) void f(T);\n", 1),
        ("#include <concepts>\n", 1),
        ("__device__ void f(int x, const auto &y) { y(x, 1); }\n", 1),  # C++20, although nvcc accepts it as C++17
        ("// concept x = 1;\nint concept_of, requires_;\n", None),
        ("void f() { for (auto& x : all) each([](auto y, auto z) { if (auto w = y(z)) use(w); }); }\n", None),
    ],
)
def test_standard_used_recognizes_cpp20(project, text, line):
    source = project / "src" / "cuda" / "area.cu"
    found = standard_used({source: text})
    assert (found and (found.flag, found.file, found.line)) == (line and ("-std=c++20", source, line))


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("src/cuda/Makefile", "CFLAGS = -O3 -I../area-cuda\n"),
        ("src/cuda/Makefile", "CFLAGS = -O3 -I ../area-cuda/ -I..\n"),
        ("CMakeLists.txt", "include_directories(BEFORE ${PROJECT_SOURCE_DIR}/src/area-cuda)\n"),
        ("CMakeLists.txt", "target_include_directories(area PRIVATE src\n  src/area-cuda)\n"),
        ("setup.py", "CUDAExtension('x', s, include_dirs=['src/area-cuda'])\n"),
    ],
)
def test_named_folder_returns_folder_in_build_files(project, file, text):
    (project / file).write_text(text)
    source = project / "src" / "cuda" / "area.cu"
    places = [project / "src" / name for name in ("area-cuda", "area-omp")]
    assert named_folder(places, source, project_of(source.parent)) == places[0]


def test_folders_of_ignores_files(project):
    (project / "src" / "area-cuda").mkdir()
    (project / "README.md").write_text(f"nvcc -I{'a' * 300} -I\0 -Isrc/area-cuda area.cu\n")
    source = project / "src" / "cuda" / "area.cu"
    assert folders_of(source, project_of(source.parent)) == (project / "src" / "area-cuda",)


@pytest.mark.parametrize("text", ["all: ../area-cuda\n", "CFLAGS = -I../area-cuda -I../area-omp\n", ""])
def test_named_folder_of_unclear_text_is_none(project, text):
    (project / "src" / "cuda" / "Makefile").write_text(text)
    source = project / "src" / "cuda" / "area.cu"
    places = [project / "src" / name for name in ("area-cuda", "area-omp")]
    assert named_folder(places, source, project_of(source.parent)) is None


TEMPLATE = """\
#cmakedefine USE_CUDA
#cmakedefine USE_NO_CUDA
#cmakedefine USE_LOGS  // said
#cmakedefine USE_FAST 1
#cmakedefine01 WITH_GPU
#cmakedefine01 WITH_TPU
#cmakedefine TILE @TILE@
#define VERSION "@MAJOR@.${MINOR}"
#define ON_GPUS @HAVE_CUDA@
#cmakedefine HAVE_TPU @HAVE_TPU@
#cmakedefine HAVE_SIMD @HAVE_SIMD@
@MORE_LINES@
"""
MADE = """\
#define USE_CUDA
/* #undef USE_NO_CUDA */
/* #undef USE_LOGS */
#define USE_FAST 1
#define WITH_GPU 1
#define WITH_TPU 0
#define TILE 16
#define VERSION "2.0"
#define ON_GPUS 1
/* #undef HAVE_TPU */
#define HAVE_SIMD TRUE

"""
CONDITION = "if(WITH_TPU)\n  set(HAVE_TPU TRUE)\nendif()\nset(HAVE_SIMD TRUE)\n"


@pytest.mark.parametrize(
    ("template", "header", "cmake"),
    [
        (
            "templates/area.h.in",
            "lib/area_config.h",
            'configure_file(templates/area.h.in "${OUT}/lib/area_config.h")\n',
        ),
        ("src/area_config.h.in", "area_config.h", 'configure_file("${HERE}/src/area_config.h.in" ${OUT})\n'),
        (
            "cmake/area.h.in",
            "lib/area_config.h",
            'set(place "${OUT}/lib/area_config.h")\nconfigure_file("${HERE}/cmake/area.h.in" ${place} @ONLY)\n',
        ),
        ("src/cuda/lib/area.h.cmake", "lib/area.h", ""),
    ],
)
def test_made_header_from_template_substitutes_variables(project, template, header, cmake):
    path = project / template
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TEMPLATE)
    cmake += 'option(USE_CUDA "GPUs" OFF)\noption(USE_FAST "fast" ON)\nset(TILE 16)\nset(MAJOR "2")\n'
    (project / "CMakeLists.txt").write_text(cmake + "set(MINOR 1)\nset(MINOR 2)\n" + CONDITION)
    source = project / "src" / "cuda" / "area.cu"
    made = made_header(header, source, project_of(source.parent))
    assert made == GeneratedHeader(path, MADE, "with USE_CUDA WITH_GPU")
    assert made_header("other.h", source, project_of(source.parent)) is None


def test_build_files_deleted_file_is_skipped(project, monkeypatch):
    (project / "setup.py").write_text("# of another program, which is writing here\n")
    (project / "Makefile").write_text("COMMON += -DGPU\n")
    read = type(project).read_text

    def vanishing(path, *arguments, **more):
        if path.name == "setup.py":
            path.unlink()
        return read(path, *arguments, **more)

    monkeypatch.setattr(type(project), "read_text", vanishing)
    assert found(project) == ("-DGPU", "Makefile", 1)


def test_project_of_stops_at_shared_folder(tmp_path):
    (tmp_path / "Makefile").write_text("CFLAGS = -DGPU\n")
    kernels = tmp_path / "mine" / "kernels"
    kernels.mkdir(parents=True)
    assert project_of(kernels) == (kernels, kernels.parent, tmp_path)
    project_of.cache_clear()
    tmp_path.chmod(0o1777)
    assert project_of(kernels) == (kernels,)
    assert project_of(tmp_path) == (tmp_path,)


def test_switches_of_variable_of_other_cmake_file_is_resolved(project):
    (project / "CMakeLists.txt").write_text('set(BITS "64" CACHE STRING "Size of a number.")\n')
    (project / "src" / "CMakeLists.txt").write_text("target_compile_definitions(area PRIVATE GPU=${BITS})\n")
    assert found(project) == ("-DGPU=64", "src/CMakeLists.txt", 1)


def test_same_statement_yields_other_macros(project):
    (project / "CMakeLists.txt").write_text(
        "target_compile_definitions(a PRIVATE HIP PLACE=hip)\n"
        "target_compile_definitions(b PUBLIC GPU PLACE=cuda\n N=${X} M=$<IF:$<BOOL:N>,1,2>)\n"
    )
    source = project / "src" / "cuda" / "area.cu"
    (switch,) = switches_of(["GPU"], source, project_of(source.parent))
    assert [each.flag for each in same_statement(switch)] == ["-DPLACE=cuda"]


def test_made_header_from_distant_cmake_file_is_found(project):
    (project / "modules").mkdir()
    (project / "modules" / "utils.cmake").write_text(
        "configure_file(${Top_SOURCE_DIR}/modules/compilers.h\n  ${Top_BINARY_DIR}/include/area/compilers.h)\n"
    )
    (project / "modules" / "compilers.h").write_text("#define AREA_CONSTEXPR constexpr\n")
    source = project / "src" / "cuda" / "area.cu"
    made = made_header("area/compilers.h", source, project_of(source.parent))
    assert made == GeneratedHeader(project / "modules" / "compilers.h", "#define AREA_CONSTEXPR constexpr\n")
