"""The GLM stub: matrices, vectors and quaternions in device code match NumPy."""

import numpy as np
from execution import program

SOURCE = """#include <glm/glm.hpp>
#include <glm/gtc/matrix_transform.hpp>
extern "C" __global__ void k(const float* in, float* out) {
    const int t = threadIdx.x;
    glm::mat4 m;
    for (int c = 0; c < 4; ++c) for (int r = 0; r < 4; ++r) m[c][r] = in[16 * t + 4 * c + r];
    const double doubles[4] = {1, 2, 3, 4};
    const glm::vec4 of_doubles = glm::make_vec4(doubles);
    const glm::dmat2 of_numbers = glm::make_mat2(in + 16 * t); glm::mat4 inverse = glm::inverse(m);
    const glm::mat4 turned = glm::rotate(glm::translate(m, glm::vec3(1, 2, 3)), 0.5f, glm::vec3(1, 2, 2));
    const glm::mat4 moved = glm::scale(turned, glm::vec3(2));
    for (int c = 0; c < 4; ++c) for (int r = 0; r < 4; ++r) out[48 * t + 4 * c + r] = inverse[c][r];
    for (int c = 0; c < 4; ++c) for (int r = 0; r < 4; ++r) out[48 * t + 16 + 4 * c + r] = moved[c][r];
    const glm::vec3 i = glm::normalize(glm::vec3(m[0])), n = glm::normalize(glm::vec3(m[1]));
    const glm::vec3 bent = glm::refract(i, glm::faceforward(n, i, n), 0.7f);
    for (int r = 0; r < 3; ++r) out[48 * t + 32 + r] = bent[r];
    out[48 * t + 35] = glm::determinant(m);
    out[48 * t + 36] = glm::any(glm::lessThan(i, n)) + 2 * glm::all(glm::lessThan(i, n));
    out[48 * t + 37] = glm::smoothstep(0.0f, 1.0f, glm::saturate(m[0][0]));
    out[48 * t + 38] = glm::u8vec4(300, 1, 2, 3).x + glm::i16vec2(4).y + glm::f64vec3(1).z;
    out[48 * t + 39] = of_doubles.w;
    out[48 * t + 40] = of_numbers[1][0];
}
"""


def test_glm_stub_vectors_and_matrices_match_numpy(tmp_path, cache):
    given = np.random.default_rng(7).normal(size=(32, 4, 4)).astype(np.float32)  # thread, column, row
    run = program(tmp_path, SOURCE, "gfx1100", cache).run
    found = run("k", np.zeros((32, 48), np.float32), given, block=32)
    for columns, out in zip(given.astype(np.float64), found, strict=True):
        m = columns.T
        inverse = np.linalg.inv(m)
        np.testing.assert_allclose(out[:16].reshape(4, 4).T, inverse, rtol=1e-3, atol=1e-3 * abs(inverse).max())
        x, y, z = axis = np.array([1, 2, 2]) / 3
        cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        turn, move = np.eye(4), np.eye(4)
        turn[:3, :3] = np.cos(0.5) * np.eye(3) + np.sin(0.5) * cross + (1 - np.cos(0.5)) * np.outer(axis, axis)
        move[:3, 3] = (1, 2, 3)
        np.testing.assert_allclose(
            out[16:32].reshape(4, 4).T, m @ move @ turn @ np.diag((2, 2, 2, 1)), rtol=1e-4, atol=1e-4
        )
        i, n = (v[:3] / np.linalg.norm(v[:3]) for v in columns[:2])
        facing = -n * np.sign(n @ i)
        bent = 0.7 * i - (0.7 * (facing @ i) + np.sqrt(1 - 0.49 * (1 - (facing @ i) ** 2))) * facing
        np.testing.assert_allclose(out[32:35], bent, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(out[35], np.linalg.det(m), rtol=1e-3, atol=1e-4)
        assert out[36] == (i < n).any() + 2 * (i < n).all()
        s = np.clip(m[0, 0], 0, 1)
        np.testing.assert_allclose(out[37], s * s * (3 - 2 * s), rtol=1e-5, atol=1e-6)
        assert out[38] == 300 % 256 + 4 + 1
        assert (out[39], out[40]) == (4, m[2, 0])


QUATERNIONS = """#include <glm/gtc/quaternion.hpp>
extern "C" __global__ void k(const float* in, float* out) {
    const float* a = in + 8 * threadIdx.x;
    const glm::quat p = glm::normalize(glm::quat(a[0], a[1], a[2], a[3]));
    const glm::quat q = glm::normalize(glm::quat(a[4], glm::vec3(a[5], a[6], a[7])));
    const glm::quat back = glm::quat_cast(glm::mat3_cast(p)), half = glm::slerp(p, q, 0.5f);
    const glm::vec3 turned = p * q * glm::vec3(1, 2, 3), again = glm::rotate(glm::inverse(p * q), turned);
    const glm::quat turn = glm::angleAxis(0.5f, glm::vec3(0, 0, 1)), angles(glm::vec3(0.1f, 0.2f, 0.3f));
    const glm::quat all[5] = {p, back, half, turn, angles};
    float* o = out + 26 * threadIdx.x;
    for (int i = 0; i < 5; ++i) { o[4 * i] = all[i].w; for (int k = 0; k < 3; ++k) o[4 * i + 1 + k] = all[i][k]; }
    for (int k = 0; k < 3; ++k) { o[20 + k] = turned[k]; o[23 + k] = again[k]; }
}
"""


def test_glm_stub_quaternions_match_numpy(tmp_path, cache):
    given = np.random.default_rng(7).normal(size=(32, 2, 4)).astype(np.float32)
    found = program(tmp_path, QUATERNIONS, "gfx1100", cache).run("k", np.zeros((32, 26), np.float32), given, block=32)

    def times(p, q):
        return np.array([p[0] * q[0] - p[1:] @ q[1:], *(p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:]))])

    for both, out in zip(given.astype(np.float64), found, strict=True):
        p, q = (each / np.linalg.norm(each) for each in both)
        product = times(p, q)
        turned = times(times(product, np.arange(4)), product * [1, -1, -1, -1])[1:]
        back, half = out[4:8], p + q * np.sign(p @ q)  # the sum of unit quaternions points to the middle of the arc
        np.testing.assert_allclose(out[:4], p, atol=1e-6)
        np.testing.assert_allclose(back * np.sign(back @ p), p, atol=1e-5)
        np.testing.assert_allclose(out[8:12], half / np.linalg.norm(half), atol=1e-5)
        np.testing.assert_allclose(out[12:16], [np.cos(0.25), 0, 0, np.sin(0.25)], atol=1e-6)
        about = [np.r_[np.cos(angle / 2), np.sin(angle / 2) * np.eye(3)[i]] for i, angle in enumerate((0.1, 0.2, 0.3))]
        np.testing.assert_allclose(out[16:20], times(times(about[2], about[1]), about[0]), atol=1e-6)
        np.testing.assert_allclose(out[20:], [*turned, 1, 2, 3], atol=1e-4)
