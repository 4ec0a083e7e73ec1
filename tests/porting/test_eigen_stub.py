"""The Eigen stub: matrices, arrays and rotations in device code match NumPy."""

import numpy as np
import pytest
from execution import program

SOURCE = """#include <Eigen/Dense>
#include <Eigen/Geometry>
typedef Eigen::Matrix<float, 3, 4, Eigen::RowMajor> Rows;
template <typename Derived>
__device__ typename Derived::Scalar energy(const Eigen::MatrixBase<Derived>& m) { return m.squaredNorm(); }
struct Pose { Eigen::Quaternionf q; Eigen::Vector3f t; };
static_assert(sizeof(Eigen::Matrix3f) == 36 && alignof(Eigen::Matrix3f) == 4 && alignof(Eigen::Vector4f) == 16);
static_assert(sizeof(Pose) == 32);
extern "C" __global__ void k(const float* in, float* out) {
    in += 16 * threadIdx.x, out += 64 * threadIdx.x;
    const Eigen::Map<const Eigen::Matrix4f> m(in);  // column-major
    const Rows top = in ? Rows(m.topRows<3>()) : Rows::Zero();  // both operands have one type
    Eigen::Matrix3f square = top * top.transpose() + 2 * Eigen::Matrix3f::Identity();
    Eigen::Map<Eigen::Matrix<float, 3, 3, Eigen::RowMajor>> written(out);
    written = square;
    written.col(1) -= m.block<3, 1>(0, 3);
    written.diagonal() *= 0.5f;
    Eigen::Vector3f a = m.row(0).head<3>(), b(in[1], in[5], in[9]), c;
    c << a.head(2), b.z();
    const Eigen::Vector3f solved = square.ldlt().solve(a.cross(b).normalized());
    for (int i = 0; i < 3; ++i) out[9 + i] = solved[i];
    const Eigen::Array3f bounded = (a.array() * b.array() + 1.0f).max(0.25f).min(c.array().abs()).sqrt();
    for (int i = 0; i < 3; ++i) out[12 + i] = bounded(i);
    int row, col;
    out[15] = m.bottomRightCorner<2, 2>().determinant(), out[16] = m.maxCoeff(&row, &col), out[17] = row + 4 * col;
    const Eigen::Quaternionf turn(Eigen::AngleAxisf(0.5f, a.normalized()));
    Eigen::Affine3f move = Eigen::Affine3f::Identity();
    move.linear() = turn.toRotationMatrix();
    move.translation() = b;
    const Eigen::Vector3f moved = move * c, same = Eigen::Quaternionf(move.rotation()) * c + b;
    for (int i = 0; i < 3; ++i) out[18 + i] = moved[i], out[21 + i] = same[i];
    out[24] = (a.array() < b.array()).count(), out[25] = float(a.dot(b)), out[26] = a.transpose() * b;
    const Eigen::Vector2d wide = (m.topLeftCorner<2, 2>() * Eigen::Vector2f(1, -1)).cast<double>();
    out[27] = wide.x(), out[28] = wide(1), out[29] = energy(a - b);
    const Eigen::Matrix2f lower = square.topLeftCorner<2, 2>().llt().matrixL();
    (Eigen::Map<Eigen::Matrix2f>(out + 30)) = lower.inverse().transpose();
    a = 3.0f * -a / 2.0f;
    a.normalize();
    out[34] = a.norm(), out[35] = a.homogeneous()(3), out[36] = a.minCoeff();
}
void host() {
    Eigen::MatrixXd m(3, 2);
    m.setRandom();
    m.conservativeResize(4, 4);
}
"""


@pytest.mark.parametrize("target", ["gfx1100", "sm_90"])
def test_eigen_stub_matrices_arrays_and_rotations_match_numpy(tmp_path, cache, request, target):
    if target == "sm_90":
        request.getfixturevalue("with_nvcc")
    given = np.random.default_rng(7).normal(size=(32, 4, 4)).astype(np.float32)  # thread, column, row
    found = program(tmp_path, SOURCE, target, cache).run("k", np.zeros((32, 64), np.float32), given, block=32)
    for columns, out in zip(given.astype(np.float64), found, strict=True):
        m = columns.T
        near = {"rtol": 1e-3, "atol": 1e-4}
        square = m[:3] @ m[:3].T + 2 * np.eye(3)
        written = square.copy()
        written[:, 1] -= m[:3, 3]
        written[range(3), range(3)] *= 0.5
        np.testing.assert_allclose(out[:9].reshape(3, 3), written, **near)
        a, b = m[0, :3], m[1, :3]
        c = np.array([a[0], a[1], b[2]])
        cross = np.cross(a, b)
        np.testing.assert_allclose(out[9:12], np.linalg.solve(square, cross / np.linalg.norm(cross)), **near)
        np.testing.assert_allclose(out[12:15], np.sqrt(np.minimum(np.maximum(a * b + 1, 0.25), abs(c))), **near)
        np.testing.assert_allclose(out[15], np.linalg.det(m[2:, 2:]), **near)
        assert out[16] == np.float32(m.max()) and out[17] == columns.argmax()
        x, y, z = axis = a / np.linalg.norm(a)
        skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        turn = np.cos(0.5) * np.eye(3) + np.sin(0.5) * skew + (1 - np.cos(0.5)) * np.outer(axis, axis)
        np.testing.assert_allclose(out[18:21], turn @ c + b, **near)
        np.testing.assert_allclose(out[21:24], turn @ c + b, **near)
        assert out[24] == (a < b).sum()
        np.testing.assert_allclose(out[25:27], a @ b, **near)
        np.testing.assert_allclose(out[27:29], m[:2, 0] - m[:2, 1], **near)
        np.testing.assert_allclose(out[29], ((a - b) ** 2).sum(), **near)
        lower = np.linalg.cholesky(square[:2, :2])
        np.testing.assert_allclose(out[30:34].reshape(2, 2), np.linalg.inv(lower), **near)
        np.testing.assert_allclose(out[34:37], [1, 1, (-axis).min()], **near)
