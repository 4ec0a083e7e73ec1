"""Stub headers of frameworks, and headers of host libraries that are absent."""

import numpy as np
import pytest
from execution import program

GENERIC = """
#ifndef THC_GENERIC_FILE
#define THC_GENERIC_FILE "program.cu"
#include "THGeneral.h"
#include "half.hpp"
#define NAME(Real, name) TH_CONCAT_3(name, Real, _)

struct State { THAllocator* allocator; THLongStorage* sizes; };
TH_API void NAME(Float, check)(State* state) { THArgCheck(state != nullptr, 1, "no state"); }
extern "C" __global__ void NAME(Half, add)(const half_float::half* x, half_float::half* y) {
  half_float::half sum = x[threadIdx.x];
  sum += 1.5f;
  y[threadIdx.x] = sum;
}
#endif
"""


def test_stub_torch_7_macros_and_half_work_in_kernels(tmp_path, cache):
    kernels = program(tmp_path, GENERIC, "gfx1100", cache)
    assert not kernels.built.translation.left_out
    x = np.arange(32, dtype=np.float16)
    assert (kernels.run("addHalf_", np.zeros(32, np.float16), x, block=32) == x + 1.5).all()


TENSORS = """
#include "THCDeviceTensor.cuh"
#include "THCDeviceTensorUtils.cuh"

extern "C" __global__ void transposed(float* x, float* y) {
  const int sizes[2] = {4, 8}, strides[2] = {1, 4};
  THCDeviceTensor<float, 2> in(x, sizes), out(y, sizes, strides);
  const int row = threadIdx.x / 8, column = threadIdx.x % 8;
  if (in.getSize(1) == 8 && in.isContiguous() && !out.isContiguous()) out[row][column] = in[row][column];
}
"""


def test_stub_torch_7_device_tensors_index_elements(tmp_path, cache):
    kernels = program(tmp_path, TENSORS, "gfx1100", cache)
    x = np.arange(32, dtype=np.float32)
    assert (kernels.run("transposed", np.zeros(32, np.float32), x, block=32) == x.reshape(4, 8).T.ravel()).all()


ARRAYS = """
#include "tensorflow/core/util/gpu_device_array_gpu.h"
#include "tensorflow/core/util/gpu_kernel_helper.h"

namespace tensorflow {
template <typename T>
__device__ void gathered(GpuDeviceArrayStruct<const T*> parts, T* out) {
  const T** values = GetGpuDeviceArrayOnDevice(&parts);
  GPU_1D_KERNEL_LOOP(i, 32) GpuAtomicAdd(out + i, *(values[i % parts.size] + i));
}
extern "C" __global__ void gather(const Eigen::half* x, Eigen::half* y) {
  GpuDeviceArrayStruct<const Eigen::half*> parts;
  parts.size = 2;
  parts.inline_values[0] = x;
  parts.inline_values[1] = x;
  gathered(parts, y);
}
}  // namespace tensorflow
"""


def test_stub_tensorflow_arrays_and_half_atomics_work_in_kernels(tmp_path, cache):
    kernels = program(tmp_path, ARRAYS, "gfx1100", cache)
    x = np.arange(32, dtype=np.float16)
    assert (kernels.run("gather", np.ones(32, np.float16), x, block=32) == x + 1).all()


IMAGES = """
#include <opencv4/opencv2/core/cuda_types.hpp>
#include "opencv2/own/filter.hpp"

extern "C" __global__ void doubled(const uchar* x, uchar* y) {
  const cv::cuda::PtrStepSz<const uchar> in(4, 8, x, 8);
  cv::cuda::PtrStepb out(y, 8);
  const int row = threadIdx.x / in.cols, column = threadIdx.x % in.cols;
  if (row < in.rows) out(row, column) = in.ptr(row)[column] * FACTOR;
}
"""


def test_stub_opencv_images_work_with_project_header(tmp_path, cache):
    own = tmp_path / "modules" / "own" / "include" / "opencv2" / "own" / "filter.hpp"
    own.parent.mkdir(parents=True)
    own.write_text("#define FACTOR 2\n")
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    kernels = program(tmp_path / "src", IMAGES, "gfx1100", cache)
    x = np.arange(32, dtype=np.uint8)
    assert (kernels.run("doubled", np.zeros(32, np.uint8), x, block=32) == 2 * x).all()


LIBRARIES = """
#include <cublas_v2.h>
#include <cudnn.h>
#include <curand.h>

typedef struct Generator hiprandGenerator_t;
enum cudnnKind_t { ONE };
struct Context {
  cudnnHandle_t handle;
  float* data;
  Context() { cudnnCreate(&handle); }
};
static __constant__ struct { float* data; } context;
__global__ void twice(cublasFillMode_t part) { context.data[threadIdx.x] *= part == CUBLAS_FILL_MODE_FULL ? 2 : 3; }
void run(Context* all) {
  if (cudnnGetVersion() < 7000) return;
  twice<<<1, 32>>>(CUBLAS_FILL_MODE_LOWER);
}
"""


def test_stub_of_host_library_omits_names_defined_by_source(tmp_path, cache, wheels):
    built = program(tmp_path, LIBRARIES, "gfx1100", cache).built
    assert built.entries and not built.translation.left_out and not built.translation.empty_headers


HOST_ONLY = {
    "googletest": """#include <gtest/gtest.h>
class Twice : public ::testing::Test { protected: void SetUp() override { y = nullptr; } float* y; };
TEST_F(Twice, Runs) { twice<<<1, 32>>>(y); ASSERT_EQ(y[0], 0) << "at " << 0; }
""",
    "catch2": """#include <catch2/catch_test_macros.hpp>
TEST_CASE("Twice") { SECTION("runs") { twice<<<1, 32>>>((float*)nullptr); REQUIRE(1 == Catch::Approx(1)); } }
""",
    "doctest": """#include <doctest/doctest.h>
TEST_CASE("Twice") { twice<<<1, 32>>>((float*)nullptr); CHECK(1 == doctest::Approx(1)); }
""",
    "boost": """#include <boost/test/unit_test.hpp>
BOOST_AUTO_TEST_SUITE(suite)
BOOST_AUTO_TEST_CASE(runs) { twice<<<1, 32>>>((float*)nullptr); BOOST_CHECK(true); }
BOOST_AUTO_TEST_SUITE_END()
""",
    "spdlog": """#include <spdlog/spdlog.h>
struct Log { inline static std::shared_ptr<spdlog::logger> logger; };
void run(float* y) { Log::logger->info("{}", 1); SPDLOG_INFO("{}", 2); twice<<<1, 32>>>(y); }
""",
    "mpi": """extern "C" {
#include <mpi.h>
}
struct Grid { MPI_Comm comm; int rows; };
__global__ void filled(float* y, Grid grid) { y[threadIdx.x] = grid.rows; }
void run(float* y, Grid grid) {
  MPI_Status status;
  MPI_Recv(y, 4, MPI_FLOAT, 0, 0, grid.comm, &status);
  if (MPI_Comm_rank(MPI_COMM_WORLD, &grid.rows) == MPI_SUCCESS) twice<<<1, 32>>>(y);
}
""",
    "protobuf": """#include "nets/pooling.pb.h"
void run(const nets::Pooling& given, float* y) { if (given.has_method()) twice<<<1, 32>>>(y); }
""",
    "opencv": """#include <opencv2/opencv.hpp>
__global__ void copied(const uchar* x, uchar* y) { y[threadIdx.x] = x[threadIdx.x]; }
void run(cv::Mat& image, float* y) { cv::cvtColor(image, image, cv::COLOR_BGR2GRAY); twice<float><<<1, 32>>>(y); }
""",
}


@pytest.mark.parametrize("library", HOST_ONLY)
def test_absent_host_library_keeps_kernels(library, tmp_path, cache):
    kernel = "template <class T> __global__ void twice(T* y) { y[threadIdx.x] *= 2; }\n"
    built = program(tmp_path, kernel + HOST_ONLY[library], "gfx1100", cache).built
    assert built.code_object.symbol("twice<float>") in built.entries
    assert len(built.entries) == 1 + HOST_ONLY[library].count("__global__")
