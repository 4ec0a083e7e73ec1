"""Votes, matches and sizes of cooperative groups; bit k of a mask belongs to the thread of rank k.

HIP 6.2 lacks some of these functions.
"""

import shutil

import numpy as np
import pytest
from execution import program

from parity.compilers.headers import HipHeaders, available_headers
from parity.compilers.rocm import with_headers
from parity.compilers.targets import target

SOURCE = """#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void votes(const int* x, unsigned long long* out) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    const int t = threadIdx.x;
    int same = 0;
    out[t] = tile.ballot(x[t] > 0);
    out[64 + t] = tile.any(x[t] > 0) | tile.all(x[t] > 0) << 1;
    out[128 + t] = tile.match_any(x[t]);
    out[192 + t] = tile.match_all(x[t], same);
    out[256 + t] = same;
    out[320 + t] = out[384 + t] = 0;
    if (x[t] > 0) {
        auto group = cg::coalesced_threads();
        out[320 + t] = group.ballot(x[t] > 1);
        out[384 + t] = group.match_any(x[t]) | (unsigned long long)group.any(x[t] > 2) << 62;
    }
    out[448 + t] = block.num_threads() + 100 * tile.num_threads() + 1000 * block.dim_threads().x;
}
"""
THREADS = 64
X = np.array([(7 * t % 11) // 3 - 1 for t in range(THREADS)], np.int32)


def bits(values):
    return sum(int(value) << rank for rank, value in enumerate(values))


def expected(width):
    """Return the results of each thread, computed from the values of its group in rank order."""
    out = np.zeros((8, THREADS), np.uint64)
    out[7] = 64864
    for t, own in enumerate(X):
        tile = X[t // 8 * 8 :][:8]
        out[0][t] = bits(tile > 0)
        out[1][t] = (tile > 0).any() | (tile > 0).all() << 1
        out[2][t] = bits(tile == own)
        out[3][t], out[4][t] = (255, 1) if (tile == own).all() else (0, 0)
        if own > 0:
            warp = X[t // width * width :][:width]
            group = warp[warp > 0]
            out[5][t] = bits(group > 1)
            out[6][t] = bits(group == own) | int((group > 2).any()) << 62
    return out


@pytest.mark.parametrize("name", ["gfx1100", "gfx90a"])
def test_group_votes_and_matches_use_thread_ranks(tmp_path, name, cache):
    X[24:32] = 2  # a tile in which all values are equal
    run = program(tmp_path, SOURCE, name, cache)
    found = run.run("votes", np.zeros((8, THREADS), np.uint64), X, block=THREADS)
    np.testing.assert_array_equal(found, expected(target(name).wavefront))


def test_block_size_is_found_where_hip_names_it_num_threads(tmp_path, cache, wheels):
    """HIP 7.2 renames ``internal::workgroup::size()``."""
    headers = available_headers()
    renamed = shutil.copytree(headers.folder / "hip", tmp_path / "later" / "hip").parent
    for path in renamed.glob("hip/amd_detail/*cooperative_groups*"):
        text = path.read_text().replace("workgroup::size()", "workgroup::num_threads()")
        before, begin, rest = text.partition("namespace workgroup {")
        path.write_text(before + begin + rest.replace(" size() {", " num_threads() {", 1))
    flags = with_headers(HipHeaders(renamed, "7.2.0"))
    run = program(tmp_path, SOURCE, "gfx1100", cache, flags)
    found = run.run("votes", np.zeros((8, THREADS), np.uint64), X, block=THREADS)
    assert (found[7] == 64864).all()
    assert "num_threads() {" in (renamed / "hip/amd_detail/hip_cooperative_groups_helper.h").read_text()
