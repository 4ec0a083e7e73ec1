"""Small headers for what tests of frameworks and Torch 7's libraries include."""

import numpy as np
import pytest
from execution import program

from parity.compilers.cuda_toolkit import nvcc
from parity.errors import MissingTool

TESTS = """
#include <gtest/gtest.h>
#include <vector>

template <typename T>
__global__ void twice(const T* x, T* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }

class Twice : public ::testing::Test {
 protected:
  void SetUp() override { values.resize(32); }
  void call() { twice<<<1, 32>>>(values.data(), values.data()); }
  std::vector<float> values;
};
TEST_F(Twice, OfNothing) {
  call();
  ASSERT_EQ(values[0], 0) << "at " << 0;
  EXPECT_NEAR(values[1], 0.0, 1e-5);
}
template <typename T>
struct Typed : ::testing::Test { using value_type = T; };
using Numbers = ::testing::Types<int, double>;
TYPED_TEST_SUITE(Typed, Numbers);
TYPED_TEST(Typed, Other) { typename TestFixture::value_type x = 1; EXPECT_EQ(x, TypeParam(1)); }
struct WithNumber : ::testing::TestWithParam<int> {};
TEST_P(WithNumber, Same) { twice<<<1, GetParam()>>>((const int*)nullptr, (int*)nullptr); }
INSTANTIATE_TEST_SUITE_P(Some, WithNumber, ::testing::Values(1, 2));
template <typename T>
__global__ void checked(T* x) { x[0] = 1; }
template <typename T>
int failed() {
  checked<<<1, 1>>>((T*)nullptr);
  return 0;
}
TEST(Plain, Nothing) {
  EXPECT_TRUE(true) << "never";
  ASSERT_EQ(0, failed<char>());
}
"""

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


CATCH = """
#include <catch2/catch_test_macros.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_approx.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <boost/test/unit_test.hpp>
#include <tuple>

template <typename T, int by>
__global__ void times(const T* x, T* y) { y[threadIdx.x] = by * x[threadIdx.x]; }

template <int by>
bool done() {
  times<int, by><<<1, 32>>>(nullptr, nullptr);
  return cudaGetLastError() == cudaSuccess;
}
TEST_CASE("Of nothing", "[times]") {
  SECTION("empty") { times<int, 1><<<1, 32>>>(nullptr, nullptr); }
  REQUIRE(1 == Catch::Approx(1.0));
  REQUIRE(done<9>());
  INFO("at " << GENERATE(1, 2));
}
TEMPLATE_TEST_CASE("Of types", "", int, float) { times<TestType, 2><<<1, 32>>>(nullptr, nullptr); }
TEMPLATE_TEST_CASE_SIG("Of both", "", ((typename T, int N), T, N), (int, 3), (double, 4)) {
  times<T, N><<<1, 32>>>(nullptr, nullptr);
}
TEMPLATE_TEST_CASE_SIG("Of numbers", "", ((int N), N), 5, 6) { times<int, N><<<1, 32>>>(nullptr, nullptr); }
BOOST_AUTO_TEST_SUITE(suite)
using Types = std::tuple<char, short>;
BOOST_AUTO_TEST_CASE_TEMPLATE(of_types, T, Types) { times<T, 7><<<1, 32>>>(nullptr, nullptr); BOOST_CHECK(done<10>()); }
BOOST_AUTO_TEST_CASE(of_nothing) { times<int, 8><<<1, 32>>>(nullptr, nullptr); }
BOOST_AUTO_TEST_SUITE_END()
"""


@pytest.mark.parametrize("target", ["gfx1100", "sm_90"])
def test_tests_of_catch2_and_boost_are_built_for_each_type(tmp_path, cache, target):
    if target == "sm_90":
        try:
            nvcc()
        except MissingTool as error:
            pytest.skip(str(error))
    built = program(tmp_path, CATCH, target, cache).built
    assert not built.translation.left_out and not set(built.translation.empty_headers) - set(built.translation.stubs)
    kinds = {"int": (1, 2, 3, 5, 6, 8, 9, 10), "float": (2,), "double": (4,), "char": (7,), "short": (7,)}
    wanted = {built.code_object.symbol(f"times<{kind}, {by}>") for kind, several in kinds.items() for by in several}
    assert {*built.entries} == wanted and len(wanted) == 12


def test_tests_of_googletest_are_built_with_their_kernels(tmp_path, cache):
    built = program(tmp_path, TESTS, "gfx1100", cache).built
    assert len(built.entries) == 3
    assert not built.translation.left_out and not built.translation.empty_headers


def test_macros_of_torch_7_and_the_half_of_half_hpp(tmp_path, cache):
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


def test_device_tensors_of_torch_7(tmp_path, cache):
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


def test_arrays_of_tensorflow_that_are_passed_to_kernels_and_sums_of_halves(tmp_path, cache):
    kernels = program(tmp_path, ARRAYS, "gfx1100", cache)
    x = np.arange(32, dtype=np.float16)
    assert (kernels.run("gather", np.ones(32, np.float16), x, block=32) == x + 1).all()


IMAGES = """
#include <opencv2/core/cuda_types.hpp>
#include "opencv2/own/filter.hpp"

extern "C" __global__ void doubled(const uchar* x, uchar* y) {
  const cv::cuda::PtrStepSz<const uchar> in(4, 8, x, 8);
  cv::cuda::PtrStepb out(y, 8);
  const int row = threadIdx.x / in.cols, column = threadIdx.x % in.cols;
  if (row < in.rows) out(row, column) = in.ptr(row)[column] * FACTOR;
}
"""


def test_images_of_opencv_and_a_header_of_the_projects_own_among_its(tmp_path, cache):
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
#include <mpi.h>

typedef struct Generator hiprandGenerator_t;
enum cudnnKind_t { ONE };
static const MPI_Datatype MPI_OWN = MPI_FLOAT;
struct Context {
  cudnnHandle_t handle;
  float* data;
  Context() { cudnnCreate(&handle); }
};
static __constant__ struct { float* data; } context;
__global__ void twice(cublasFillMode_t part) { context.data[threadIdx.x] *= part == CUBLAS_FILL_MODE_FULL ? 2 : 3; }
void run(Context* all) {
  if (cudnnGetVersion() < 7000) return;
  MPI_Bcast(all->data, 1, MPI_OWN, 0, MPI_COMM_WORLD);
  twice<<<1, 32>>>(CUBLAS_FILL_MODE_LOWER);
}
"""


def test_libraries_of_the_host_and_names_like_theirs_that_a_source_defines(tmp_path, cache):
    built = program(tmp_path, LIBRARIES, "gfx1100", cache).built
    assert built.entries and not built.translation.left_out and not built.translation.empty_headers
