// Fixed-size matrices, arrays, maps and rotations of small integers: the order of additions does not change a result.
#include <Eigen/Dense>

template <class M>
__device__ void put(float*& out, const M& m) {
  for (int j = 0; j < m.cols(); ++j) for (int i = 0; i < m.rows(); ++i) *out++ = float(m(i, j));
}
extern "C" __global__ void matrices(const float* in, float* out) {
  in += 64 * threadIdx.x; out += 64 * threadIdx.x;
  const Eigen::Matrix3f a = Eigen::Map<const Eigen::Matrix3f>(in), b = Eigen::Map<const Eigen::Matrix3f>(in + 9);
  const Eigen::Vector3f v = Eigen::Map<const Eigen::Vector3f>(in + 18), w(in[21], in[22], in[23]);
  put(out, Eigen::Matrix3f(a * b)); put(out, Eigen::Matrix3f(a.transpose() - b * 2.0f)); put(out, Eigen::Vector3f(a * v + w));
  put(out, Eigen::Vector3f(v.cross(w))); put(out, Eigen::Matrix3f(v * w.transpose()));
  *out++ = v.dot(w); *out++ = v.squaredNorm(); *out++ = a.sum(); *out++ = a.trace(); *out++ = a.determinant();
  *out++ = v.maxCoeff(); *out++ = v.minCoeff(); *out++ = a.cwiseAbs().maxCoeff(); *out++ = v.prod();
  put(out, Eigen::Vector3f(v.cwiseProduct(w))); put(out, Eigen::Vector3f(v.cwiseMin(w))); put(out, Eigen::Vector3f(a.col(1)));
  put(out, Eigen::Matrix2f(a.block<2, 2>(1, 1)));
}
extern "C" __global__ void parts(const float* in, float* out) {
  in += 64 * threadIdx.x; out += 64 * threadIdx.x;
  Eigen::Matrix4f m = Eigen::Matrix4f::Identity();
  m.block<3, 3>(0, 0) = Eigen::Map<const Eigen::Matrix<float, 3, 3, Eigen::RowMajor>>(in);
  m.topRightCorner<3, 1>() = Eigen::Vector3f(in[9], in[10], in[11]);
  m.row(3) *= 2.0f;
  put(out, m);
  Eigen::Vector4f v; v << in[12], in[13], in[14], in[15];
  v.head<2>() += v.tail<2>(); v.segment<2>(1).setZero();
  put(out, v); put(out, Eigen::Vector4f(m * v)); put(out, Eigen::Vector4f(m.diagonal()));
  put(out, Eigen::Vector3f((m * v.head<3>().homogeneous()).head<3>())); put(out, Eigen::Vector3f(Eigen::Vector4f(v + Eigen::Vector4f::Ones() * 4.0f).hnormalized() * 0.0f));
  put(out, Eigen::Matrix3d(m.topLeftCorner<3, 3>().cast<double>())); put(out, Eigen::Vector3f(Eigen::Vector3f::Unit(1)));
  *out++ = v.isZero(); *out++ = m.isApprox(m); *out++ = (v.array() > 0.0f).any(); *out++ = (v.array() >= v.array()).all();
}
extern "C" __global__ void arrays(const float* in, float* out) {
  in += 64 * threadIdx.x; out += 64 * threadIdx.x;
  const Eigen::Array4f a = Eigen::Map<const Eigen::Array4f>(in), b = Eigen::Map<const Eigen::Array4f>(in + 4);
  put(out, Eigen::Array4f(a * b + 1.0f)); put(out, Eigen::Array4f(a / 4.0f - b)); put(out, Eigen::Array4f(a.min(b))); put(out, Eigen::Array4f(a.max(0.0f)));
  put(out, Eigen::Array4f(a.abs())); put(out, Eigen::Array4f(a.square())); put(out, Eigen::Array4f((a < b).select(a, b)));
  put(out, Eigen::Array4i(a.cast<int>())); *out++ = (a * b).sum(); *out++ = (a == b).count(); *out++ = a.matrix().squaredNorm();
}
extern "C" __global__ void rotations(const float* in, float* out) {
  in += 64 * threadIdx.x; out += 64 * threadIdx.x;
  const Eigen::Quaternionf p(in[0], in[1], in[2], in[3]), q(in[4], in[5], in[6], in[7]);
  put(out, (p * q).coeffs()); put(out, p.conjugate().coeffs());
  put(out, Eigen::Vector3f(Eigen::Quaternionf(0, 1, 0, 0) * Eigen::Vector3f(in[8], in[9], in[10])));
  put(out, Eigen::Matrix3f(Eigen::Quaternionf(0, 0, 1, 0).toRotationMatrix())); *out++ = p.dot(q); *out++ = p.squaredNorm();
}
