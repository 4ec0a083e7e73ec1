"""Recompilation of single kernels after an edit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from parity.build.incremental import recompiled, stage
from parity.build.modules import build_suite, source_as_built
from parity.compilers.errors import CompileError
from parity.emulator.amdgpu.listing import kernel_code
from parity.op import Op
from parity.suite.loading import Suite

HEADER = "template <class T> __device__ T twice(T x) { return x + x; }\n"
SOURCE = """\
#include "twice.cuh"
#include <nowhere/to/be/found.h>
extern "C" __global__ void first(float* out) { out[threadIdx.x] = twice(out[threadIdx.x]) + 1.0f; }
template <int N> __global__ void other(float* out) { out[threadIdx.x] = twice(float(N)); }
void host(float* out) { not_here::at_all(out); other<3><<<1, 2>>>(out); }
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recompile")
    (folder / "kernels").mkdir()
    (folder / "kernels" / "mine.cu").write_text(SOURCE)
    (folder / "kernels" / "twice.cuh").write_text(HEADER)
    op = Op("mine.first", kernel="first", types=("f32",), args="out", updates={"out": "T"}, reference=lambda out: out)
    return Suite(folder / "kernels", folder / "cases", {op.name: op})


@pytest.fixture(scope="module")
def staged(suite, tmp_path_factory):
    return stage(suite, "mine", "gfx1100", tmp_path_factory.mktemp("staged"))


def instructions(listing, kernel):
    return [item.text for item in kernel_code(listing, kernel).instructions]


def test_recompiled_kernel_has_same_code_as_in_module(suite, staged):
    (built,) = build_suite(suite, ["mine"], ["gfx1100"])
    alone = recompiled(staged, ["first"])
    assert instructions(alone, "first") == instructions(built.code_object.listing, "first")
    assert len(built.entries) == 2 and ".amdhsa_kernel first" in alone and alone.count(".amdhsa_kernel ") == 1


def test_recompiled_with_edited_header_keeps_files(staged):
    text = staged.text("twice.cuh")
    assert text == HEADER and staged.text("mine.cu").startswith('#include "twice.cuh"\n')
    edited = recompiled(staged, ["first"], ("twice.cuh", text.replace("x + x", "x * x")))
    assert staged.text("twice.cuh") == HEADER
    assert instructions(edited, "first") != instructions(recompiled(staged, ["first"]), "first")


def test_recompiled_with_broken_edit_names_source(suite, staged):
    with pytest.raises(CompileError, match=r"twice\.cuh:1") as error:
        recompiled(staged, ["first"], ("twice.cuh", HEADER.replace("x + x", "x + nothing")))
    assert [each.name for each in error.value.findings] == ["nothing"]


def test_stage_of_code_object_is_none(suite, tmp_path):
    (suite.kernels / "given.hsaco").touch()
    other = replace(suite.op("mine.first"), name="given.first")
    given = Suite(suite.kernels, suite.cases, {other.name: other})
    assert source_as_built(given, "given", "gfx1100") is None
    assert stage(given, "given", "gfx1100", tmp_path) is None
