// Vectors, matrices and quaternions of small integers, so that the order of additions does not change a result.
#include <glm/glm.hpp>
#include <glm/gtc/matrix_transform.hpp>
#include <glm/gtc/quaternion.hpp>

template <typename V>
__device__ void put(float*& out, const V& v) {
  for (int i = 0; i < V::length(); ++i) *out++ = v[i];
}
extern "C" __global__ void vectors(const float* in, float* out) {
  in += 64 * threadIdx.x; out += 64 * threadIdx.x;
  glm::vec3 a(in[0], in[1], in[2]), b(in[3], in[4], in[5]), c(in[6], in[7], in[8]);
  const glm::vec2 b2(b), c2(c);
  const glm::vec4 d(a, in[9]), e(b2, c2);
  put(out, a + b * c - 2.0f); put(out, glm::cross(a, b)); put(out, 3.0f - d * e); put(out, -d);
  a += b; a *= 2.0f; b -= glm::vec3(1); ++b;
  put(out, a); put(out, b);
  *out++ = glm::dot(d, e); *out++ = glm::dot(a, b); *out++ = glm::length(glm::vec2(3, 4) * d.x);
  put(out, glm::min(a, b)); put(out, glm::max(d, e)); put(out, glm::clamp(c, -2.0f, 2.0f)); put(out, glm::abs(d));
  put(out, glm::sign(c)); put(out, glm::floor(d / 4.0f)); put(out, glm::mix(a, b, 0.5f)); *out++ = glm::step(a.x, b.x);
  *out++ = glm::any(glm::lessThan(a, b)); *out++ = glm::all(glm::greaterThanEqual(d, e)); *out++ = a == b;
}
extern "C" __global__ void integers(const float* in, float* out) {
  in += 64 * threadIdx.x; out += 64 * threadIdx.x;
  const glm::ivec4 a(in[0], in[1], in[2], in[3]), b(glm::abs(in[4]) + 1, 3, 5, 7);
  put(out, a / b); put(out, a % b); put(out, a & b); put(out, a | b); put(out, a ^ b); put(out, a << 2); put(out, b >> glm::ivec4(1));
  put(out, glm::u8vec4(a)); put(out, glm::i16vec2(b)); put(out, glm::dvec3(a)); put(out, glm::uvec3(b) * 3u);
}
extern "C" __global__ void matrices(const float* in, float* out) {
  in += 64 * threadIdx.x; out += 64 * threadIdx.x;
  glm::mat4 m(1.0f);
  for (int i = 0; i < 16; ++i) m[i / 4][i % 4] = in[i];
  const glm::mat3 n(m), o(in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7], in[8]);
  const glm::mat2x3 p(in[0], in[1], in[2], in[3], in[4], in[5]);
  put(out, m * glm::vec4(in[16], in[17], in[18], in[19])); put(out, glm::vec3(n[1]) * o);
  for (int i = 0; i < 3; ++i) { put(out, (n * o)[i]); put(out, glm::transpose(n)[i]); put(out, (n - o * 2.0f)[i]); }
  for (int i = 0; i < 2; ++i) put(out, (o * p)[i]);
  for (int i = 0; i < 2; ++i) put(out, glm::outerProduct(glm::vec2(in[0], in[1]), glm::vec2(in[2], in[3]))[i]);
  *out++ = glm::determinant(m); *out++ = glm::determinant(o); *out++ = n == o;
  put(out, glm::inverse(glm::mat2(2, 0, in[1], 1))[1]);
  put(out, glm::translate(m, glm::vec3(1, 2, 3))[3]); put(out, glm::scale(m, glm::vec3(2))[2]);
}
extern "C" __global__ void quaternions(const float* in, float* out) {
  in += 64 * threadIdx.x; out += 64 * threadIdx.x;
  const glm::quat p(in[0], in[1], in[2], in[3]), q(in[4], glm::vec3(in[5], in[6], in[7]));
  const glm::quat all[6] = {p * q, p + q, -p, glm::conjugate(p), p * 2.0f, glm::inverse(glm::quat(1, 1, 1, -1))};
  for (int i = 0; i < 6; ++i) { *out++ = all[i].w; *out++ = all[i].x; *out++ = all[i].y; *out++ = all[i].z; }
  put(out, p * glm::vec3(in[8], in[9], in[10])); *out++ = glm::dot(p, q);
  for (int i = 0; i < 3; ++i) put(out, glm::mat3_cast(p)[i]);
}
