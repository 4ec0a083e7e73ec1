"""Kernels with in-place updates, structures, tables and launch sequences."""

from __future__ import annotations

import pytest

TARGET = ("--target", "gfx1100")


@pytest.fixture
def project(library, parity):
    """Copy the project and change to the copy."""
    return library("declared")


@pytest.mark.thorough
def test_declared_kernels_pass_with_both_wavefront_sizes(parity, project):
    result = parity("run", "-v", "--target", "gfx1100,gfx90a", "--examples", "8")
    assert result.code == 0, result.out + result.err
    assert "14 kernels" in result.out


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("adam", "v[i] = second;", "v[i] = 1.001f * second;", "in the output v"),
        ("adam", "step.eps);", "step.lr);", "in the output p"),
        ("adam", "m[i] = first;", "", "in the output m"),
        ("tables", "squares[i % 8]", "squares[i % 7]", "FAIL  ops::weighted"),
        ("tables", "weights[i % 16]", "weights[i % 15]", "FAIL  ops::weighted"),
        ("tables", "out[order[row] * columns", "out[row * columns", "FAIL  permute"),
        ("tables", "else high = middle;", "else high = middle - 1;", "FAIL  bucket"),
        ("variables", "x[i] > limit", "x[i] >= limit + 1", "FAIL  count_above"),
        ("variables", "i < scene.width", "i < scene.width - 1", "FAIL  find_highest"),
        ("variables", '"%d\\n", x[i]', '"%d\\n", -x[i]', "FAIL  list_odd"),
        ("heap", "count * sizeof(int)", "count * sizeof(short)", "buffer 'allocated by the kernel'"),
        ("heap", "areas[i] = shapes[i]->area();", "delete shapes[i];", "buffer 'released by the kernel'"),
        ("tables", "x[plane][row][col]", "x[plane][0][col]", "FAIL  add_volumes"),
        ("textures", "2 * x + 1.0f", "2 * x + 1.1f", "FAIL  halve"),
        ("textures", "lookup.table, ids[i]", "lookup.table, ids[i] / 2", "FAIL  look_up"),
        ("textures", "(width - 1 - x) * sizeof(pixel)", "(width - x) * sizeof(pixel)", "FAIL  mirror"),
        ("two_phases", "i < blocks; i += blockDim.x", "i < 1; i += blockDim.x", "FAIL  sum_blocks"),
        ("two_phases", "if (threadIdx.x == 0) partial[blockIdx.x] = sum;", "", "never-written read"),
    ],
)
def test_fault_in_declared_kernel_is_detected(parity, project, file, old, new, says, edit):
    edit(project / "kernels" / f"{file}.cu", old, new)
    result = parity("run", "-v", file, *TARGET)
    assert result.code == 1 and says in result.out


def test_variables_and_printed_text_are_compared(parity, project, edit):
    command = ("run", "-v", "variables", "--target", "gfx1100,gfx90a", "--examples", "3")
    assert parity(*command).code == 0
    case = "variables.count_above[f32](x=9~normal@0 above=4~bits@0 limit=0)"
    assert parity("reproduce", case, *TARGET, "-o", "folder", "--check").code == 0
    result = parity("reproduce", "variables.list_odd[i32](x=9~bits@0)", *TARGET)
    assert result.code == 2 and "the text that its kernel prints, which only emulated GPUs capture" in result.err
    edit(project / "kernels" / "variables.cu", "1u);", "2u);")
    edit(project / "kernels" / "variables.cu", '"%d: ", i', '"%u: ", i + 1')
    result = parity(*command)
    assert result.code == 1 and "FAIL  count_above" in result.out and "FAIL  list_odd" in result.out
    edit(project / "kernels" / "variables.cu", '"%u: ", i + 1', '"%d: ", i')
    edit(project / "cases" / "variables.py", "printed: 8192", "printed: 16")
    result = parity("run", "-v", "variables.list_odd", *TARGET, "--examples", "3")
    assert "the kernel prints more than the 16 bytes of printed" in result.out


def test_kernel_that_prints_nothing_in_all_cases_fails(parity, project, edit, with_nvcc):
    edit(project / "cases" / "variables.py", "    reference=printed,\n", "")
    command = ("run", "-v", "variables.list_odd", *TARGET, "--examples", "12")
    assert parity(*command).code == 0
    edit(project / "kernels" / "variables.cu", "x[i] % 2 == 0", "x[i] % 2 < 2")
    result = parity(*command)
    assert result.code == 1 and "no case writes an element of printed" in result.out


def test_structure_of_wrong_size_is_refused(parity, project, edit):
    edit(project / "cases" / "adam.py", "eps t decay", "eps t")
    result = parity("run", "-v", "adam", *TARGET, "--examples", "2")
    assert result.code == 1 and "argument 4 'step' at byte 32 of kernel 'adam' has 32 bytes, not 20" in result.out


def test_missing_device_variable_is_reported(parity, project, edit):
    edit(project / "cases" / "tables.py", '"ops::squares"', '"ops::cubes"')
    result = parity("run", "-v", "tables.weighted", *TARGET, "--examples", "2")
    assert result.code == 1 and "module 'tables' has no variable 'ops::cubes'" in result.out


@pytest.mark.thorough
def test_declared_kernels_recording_is_replayed(parity, project):
    assert parity("record", "--runner", "emulated", *TARGET, "--examples", "3", "-o", "all.zip").code == 0
    result = parity("run", "-v", "--runner", "recorded=all.zip")
    assert result.code == 0 and "14 kernels" in result.out, result.out + result.err


def test_launches_setting_and_option_keep_host_launches(parity, project, edit):
    assert "launch=" not in parity("list", "two_phases", "--cases").out
    edit(project / "cases" / "tables.py", "    block=128,\n    grid_stride=False,", "    block=128,")
    case = ("list", "tables.weighted", "--cases")
    assert "launch=" not in parity(*case).out
    assert "launch=" in parity(*case, "--launches", "any").out
    edit(project / "kernels" / "tables.cu", "squares[i % 8]", "squares[i % 7]")
    result = parity("run", "-v", "tables.weighted", *TARGET, "--launches", "host", "--examples", "3")
    again = next(line for line in result.out.splitlines() if "again" in line)
    assert result.code == 1 and "--launches host" in again
    edit(project / "pyproject.toml", '"host"', '"hots"')
    assert "launches is 'hots', not any or host" in parity("list").err


def test_invalid_declaration_disables_only_its_op(parity, project, edit):
    edit(project / "cases" / "tables.py", 'where="0 < columns <= 256",', 'where="columns > 256 and columns < 1",')
    edit(project / "cases" / "tables.py", '"columns": (1, 3, 31, 32, 65, 256)', '"columns": (1,)')
    result = parity("run", "-v", "tables", *TARGET, "--examples", "2")
    assert result.code == 2 and "no drawn case fulfils where='columns > 256 and columns < 1'" in result.out
    assert "Traceback" not in result.out and "bucket" in result.out and "pass" in result.out


def test_op_without_reference_and_cuda_is_not_a_pass(parity, project, edit):
    reference = "reference=lambda x: Expected(np.array([x.sum(dtype=np.int32)])),"
    edit(project / "cases" / "two_phases.py", reference, "")
    result = parity("run", "-v", "tables.permute", "two_phases", "--runner", "emulated", *TARGET, "--examples", "2")
    assert result.code == 3 and "pass" in result.out
    assert "NOT JUDGED" in result.out and "only memory checked" in result.out
    assert "the op has no reference, and the other vendor's side has no result" in result.err
