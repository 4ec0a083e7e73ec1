// Reductions, scans, sorts and exchanges of one block of 64 threads.
#include <cub/cub.cuh>

extern "C" __global__ void reductions(const float* in, float* out) {
  using Reduce = cub::BlockReduce<float, 64>;
  using Warp = cub::WarpReduce<float, 32>;
  __shared__ typename Reduce::TempStorage storage;
  __shared__ typename Warp::TempStorage warps[2];
  const int t = threadIdx.x;
  in += 64 * t; out += 64 * t;
  const float sum = Reduce(storage).Sum(in[0]);
  __syncthreads();
  const float most = Reduce(storage).Reduce(in[1], cub::Max());
  __syncthreads();
  float items[4] = {in[2], in[3], in[4], in[5]};
  const float all = Reduce(storage).Sum(items);
  const float part = Warp(warps[t / 32]).Sum(in[6]), least = Warp(warps[t / 32]).Reduce(in[7], cub::Min());
  if (t == 0) { out[0] = sum; out[1] = most; out[2] = all; }
  if (t % 32 == 0) { out[3] = part; out[4] = least; }
}
extern "C" __global__ void scans(const float* in, float* out) {
  using Scan = cub::BlockScan<float, 64>;
  using Warp = cub::WarpScan<float, 32>;
  __shared__ typename Scan::TempStorage storage;
  __shared__ typename Warp::TempStorage warps[2];
  const int t = threadIdx.x;
  in += 64 * t; out += 64 * t;
  Scan(storage).InclusiveSum(in[0], out[0]);
  __syncthreads();
  Scan(storage).ExclusiveSum(in[1], out[1], out[2]);
  __syncthreads();
  Scan(storage).InclusiveScan(in[2], out[3], cub::Max());
  __syncthreads();
  float items[4] = {in[3], in[4], in[5], in[6]}, sums[4];
  Scan(storage).ExclusiveSum(items, sums);
  for (int i = 0; i < 4; ++i) out[4 + i] = sums[i];
  Warp(warps[t / 32]).InclusiveSum(in[7], out[8]);
  Warp(warps[t / 32]).ExclusiveScan(in[8], out[9], -9.0f, cub::Max());
}
extern "C" __global__ void moves(const float* in, float* out) {
  using Sort = cub::BlockRadixSort<float, 64, 4, int>;
  using Exchange = cub::BlockExchange<float, 64, 4>;
  using Heads = cub::BlockDiscontinuity<float, 64>;
  __shared__ typename Sort::TempStorage sort;
  __shared__ typename Exchange::TempStorage exchange;
  __shared__ typename Heads::TempStorage discontinuity;
  const int t = threadIdx.x;
  in += 64 * t; out += 64 * t;
  float keys[4] = {in[0], in[1], in[2], in[3]}, moved[4] = {in[4], in[5], in[6], in[7]};
  int places[4] = {4 * t, 4 * t + 1, 4 * t + 2, 4 * t + 3}, heads[4];
  Sort(sort).Sort(keys, places);
  Heads(discontinuity).FlagHeads(heads, keys, cub::Inequality());
  Exchange(exchange).BlockedToStriped(moved, moved);
  for (int i = 0; i < 4; ++i) { out[i] = keys[i]; out[4 + i] = places[i]; out[8 + i] = heads[i]; out[12 + i] = moved[i]; }
}
