"""``parity footprint``: table, formats, and machines without CUDA tools."""

from __future__ import annotations

import csv
import json

from parity.footprint import sass
from parity.platform.installation import install_command

AMD = ("--target", "gfx1100,gfx90a")


def test_static_prints_line_per_kernel_with_targets(parity):
    result = parity("footprint", "affine.affine", "--dtype", "f16,f32", *AMD)
    assert result.code == 0
    head, columns, f16, f32 = result.out.splitlines()[:4]
    assert head.split() == ["affine", "gfx1100", "gfx90a"]
    assert columns.split() == ["regs", "occ", "bytes"] * 2
    assert [line.split()[0] for line in (f16, f32)] == ["affine_f16", "affine_f32"]
    assert f16.count("100 %") == 2
    assert "\x1b" not in result.out


def test_static_optional_columns_appear_if_needed(parity):
    assert "LDS B" in parity("footprint", "reduce.argmax", "--target", "gfx1100").out
    assert "LDS" not in parity("footprint", "affine", "--target", "gfx1100").out


def test_static_full_prints_instruction_classes(parity):
    lines = parity("footprint", "affine_f32", "--full", *AMD).out.splitlines()
    assert lines[0].split()[:4] == ["affine", "target", "regs", "sregs"]
    assert all(name in lines[0] for name in ("valu", "vmem load", "scratch B", "lds", "wait"))
    assert [line.split()[:2] for line in lines[1:3]] == [["affine_f32", "gfx1100"], ["gfx90a", lines[2].split()[1]]]
    assert len({len(line) for line in lines[:3]}) == 1


def test_static_json_and_files_are_complete(parity, tmp_path):
    folder = tmp_path / "reports"
    result = parity("footprint", "fill.fill", "--dtype", "f32", "--json", "--output", folder, *AMD)
    data = json.loads(result.out)
    assert [(k["kernel"], k["target"]) for k in data["kernels"]] == [("fill_f32", "gfx1100"), ("fill_f32", "gfx90a")]
    assert data["kernels"][0]["mix"]["vmem store"] >= 1
    rows = list(csv.DictReader((folder / "static.csv").read_text().splitlines()))
    for row, kernel in zip(rows, data["kernels"], strict=True):
        assert row["kernel"] == "fill_f32"
        assert {name: int(row[name]) for name in ("vgprs", "sgprs", "code_bytes", "threads")} == {
            name: kernel[name] for name in ("vgprs", "sgprs", "code_bytes", "threads")
        }
        assert {n: int(row[n.replace(" ", "_")]) for n in kernel["mix"]} == kernel["mix"]
    text = " ".join((folder / "static.md").read_text().split())
    assert "| module | kernel | gfx1100 regs | gfx1100 occ | gfx1100 bytes | gfx90a regs |" in text
    assert "| fill | `fill_f32` |" in text


def test_static_kernel_without_store_is_named(parity, kernels):
    (kernels / "fill.cu").write_text(
        'extern "C" __global__ void fill_f32(float* out) {}\n'
        'extern "C" __global__ void fill_u8(unsigned char* out) { *out = 1; }\n'
    )
    out = parity("footprint", "fill_f32", "fill_u8", "--kernels", kernels, "--target", "gfx1100").out
    assert "vacuous: no instruction writes global memory (gfx1100): 1 kernel: fill_f32\n" in out
    assert "vacuous" not in parity("footprint", "fill.fill", "--target", "gfx1100").out


def test_static_without_nvcc_omits_cuda(parity, hide_nvcc):
    hide_nvcc()
    result = parity("footprint", "affine_f32")
    assert result.code == 0
    assert result.out.splitlines()[0].split() == ["affine", "gfx1030", "gfx1100", "gfx90a"]
    assert "sm_90 left out: nvcc not found" in result.out
    asked = parity("footprint", "affine_f32", "--target", "sm_90")
    assert asked.code == 3
    assert "nvcc not found" in asked.err


def test_static_without_nvdisasm_explains_missing_instructions(parity, monkeypatch, with_nvcc):
    monkeypatch.setattr(sass, "_candidates", lambda: iter(()))
    result = parity("footprint", "affine_f32", "--target", "sm_90", "--json")
    data = json.loads(result.out)
    assert data["kernels"][0]["mix"] is None
    assert data["kernels"][0]["code_bytes"] > 0
    assert "nvdisasm not found" in data["notes"][0]
    assert install_command("nvcc") in data["notes"][0]


def test_static_compile_error_affects_only_its_module(parity, kernels):
    (kernels / "affine.cu").write_text("this is not CUDA\n")
    result = parity("footprint", "affine", "fill.fill", "--kernels", kernels, "--target", "gfx1100")
    assert result.code == 1
    assert "fill_f32" in result.out
    assert "affine" in result.err
    assert "Traceback" not in result.err
