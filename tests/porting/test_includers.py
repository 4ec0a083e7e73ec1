"""Files that include a source which is only a part of them."""

from __future__ import annotations

from parity.porting.linking import includers


def test_includers_are_found_several_folders_above(tmp_path):
    (tmp_path / ".git").mkdir()
    part = tmp_path / "src" / "kernels" / "own" / "part.cu"
    part.parent.mkdir(parents=True)
    part.write_text("__global__ void k(number* x) { x[threadIdx.x] += 1; }\n")
    (tmp_path / "all.h").write_text('typedef float number;\n#include "src/kernels/own/part.cu"\n')
    (tmp_path / "other.h").write_text("// part.cu is elsewhere\n")
    assert [*includers(part)] == [tmp_path / "all.h"]
