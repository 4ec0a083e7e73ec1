"""parity's small Thrust: pairs and tuples of device code."""

import numpy as np
from execution import program

SOURCE = """#include <thrust/pair.h>
#include <thrust/tuple.h>
extern "C" __global__ void pairs(const int* x, int* y) {
    const int t = threadIdx.x;
    thrust::pair<int, int> best(x[t], t);
    const auto other = thrust::make_pair(x[63 - t], 63 - t);
    if (best < other) best = other;
    int a, b, c, d, e;
    thrust::tie(a, b) = best;
    thrust::tie(c, d, e) = thrust::make_tuple(x[t], t, 7);
    y[t] = a;
    y[t + 64] = thrust::get<1>(best) == b ? b : -1;
    y[t + 128] = c + 100 * d + e;
    y[t + 192] = best != other;
}
"""


def test_pairs_are_compared_assigned_and_tied(tmp_path, cache):
    x = (np.arange(64, dtype=np.int32) * 29) % 17
    best = [max((int(x[t]), t), (int(x[63 - t]), 63 - t)) for t in range(64)]
    wanted = np.zeros((4, 64), np.int32)
    wanted[0], wanted[1] = zip(*best, strict=True)
    wanted[2] = x + 100 * np.arange(64) + 7
    wanted[3] = [pair != (x[63 - t], 63 - t) for t, pair in enumerate(best)]
    run = program(tmp_path, SOURCE, "gfx1100", cache)
    assert (run.run("pairs", np.zeros((4, 64), np.int32), x, block=64) == wanted).all()
