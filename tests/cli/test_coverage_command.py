"""``parity coverage``: unreached lines, and the search for cases that reach them."""

from __future__ import annotations

import json

import pytest

from parity.application.stored_results import load

TARGET = ("--target", "gfx1100")
LEAD = ("--lead", "200")


@pytest.fixture
def hidden(library):
    """Create a project whose kernel branches on a size, a rank and a data value."""
    return library("hidden")


def own_lines(target):
    return f"""\
lines that never ran
  hidden.cu:9-10  for (int k = 0; k < i % 3; ++k)
    if    hidden.cu:8  if (n == 4099) {{
    in    one_size_f32 ({target})
  hidden.cu:25  at = x[at] < x[0] ? at : 0;
    if    hidden.cu:23  if (dims == 6) {{
    in    one_rank_f32 ({target})
  hidden.cu:36  y = y * y + x[k];
    if    hidden.cu:34  if (x[i] == 12345.5f) {{
    in    one_value_f32 ({target})"""


def test_coverage_lists_unreached_lines_with_conditions(parity, hidden):
    result = parity("coverage", *TARGET)
    assert result.code == 0, result.err
    own, _, rest = result.out.partition("\n\n")
    assert own == own_lines("gfx1100")
    assert "the compiler's division of 64 bits, for numbers of 2^32 or more" in rest
    assert "library functions with code for arguments that no case has\n  hip-include/clang/__clang_hip" in rest
    total, known = rest.splitlines()[-2:]
    assert "basic blocks reached (" in total and "branch directions (" in total
    assert known.startswith(
        "  not reached: 13; with a reason above: 1, of library functions: 1, branches alone: 6; without "
    )
    assert known.endswith("; the other 5: 1 of lines that ran, 4 of lines that did not")
    assert "\x1b" not in result.out


def test_coverage_of_ptx_lists_lines_and_found_cases(parity, hidden):
    result = parity("coverage", "--runner", "ptx")
    assert result.code == 0, result.err
    own, _, rest = result.out.partition("\n\n")
    assert own == own_lines("sm_90")
    assert "hidden.cu:20" in rest and "the compiler's division of 64 bits, for numbers of 2^32 or more" in rest
    assert rest.splitlines()[-2].startswith("sm_90 emulated: ")

    led = parity("coverage", "hidden.one_size", "hidden.one_value", "--runner", "ptx", *LEAD)
    assert led.code == 1 and "lines that never ran" not in led.out
    assert "  FAIL  hidden.one_size[f32](x=4099~" in led.out and "12345.5..12345.5@" in led.out


@pytest.mark.thorough
def test_coverage_json_matches_text(parity, hidden):
    case = "hidden.one_size[f32](x=4099~normal@0)"
    reached = json.loads(parity("coverage", case, *TARGET, "--json").out)
    data = json.loads(parity("coverage", "hidden.one_size", *TARGET, "--json").out)
    (line, *_) = data["missed"]
    assert (line["kind"], line["file"], line["first"], line["guard"]) == ("line", "hidden.cu", 9, "hidden.cu:8")
    assert (line["kernels"], line["targets"]) == (["one_size_f32"], ["gfx1100"])
    assert [each for each in reached["missed"] if each["kind"] == "line"] == []
    (before,), (after,) = data["columns"], reached["columns"]
    assert (before["explained"], before["library"]) == (0, 0)
    assert before["blocks_reached"] < after["blocks_reached"] <= after["blocks"] == before["blocks"]


def test_record_contains_coverage_of_each_case(parity, hidden):
    parity("run", "hidden.one_rank", *TARGET, "--output", hidden / "out")
    records = load(hidden / "out").records
    assert all(record.reached and record.reached.blocks_reached > 0 for record in records)
    assert len({record.reached for record in records}) > 1  # a scalar skips the loop over dimensions


@pytest.mark.thorough
def test_coverage_without_executed_case_is_refused(parity, hidden):
    (hidden / "kernels" / "hidden.cu").write_text("no kernel")
    result = parity("coverage", *TARGET)
    assert result.code == 3 and "nothing was run" in result.err


def test_coverage_search_finds_size_rank_and_value(parity, hidden):
    result = parity("coverage", *TARGET, *LEAD, "--save")
    assert result.code == 1  # two found cases fail because the branches they reach are wrong
    own = result.out.partition("lines that ran")[0]
    assert "hidden.cu:9" not in own and "hidden.cu:25" not in own and "hidden.cu:36" not in own
    kept = (hidden / "cases" / "hidden.found").read_text()
    assert "hidden.one_size[f32](x=4099~" in kept
    assert "12345.5..12345.5@" in kept
    (rank,) = (line for line in kept.splitlines() if "reaches hidden.cu:23" in line)
    assert rank.partition("x=")[2].partition("~")[0].count("x") == 5
    found = result.out.partition("cases found that reach more:")[2]
    assert "  FAIL  hidden.one_size[f32](x=4099~" in found
    assert "parity run shows why" in result.err

    again = parity("run", "hidden.one_size", *TARGET)  # the run now includes the saved case
    assert again.code == 1 and "FAIL  one_size_f32 on gfx1100 (emulated)" in again.out
    text = next(line.partition("  #")[0] for line in kept.splitlines() if "one_size" in line)
    assert text in parity("list", "hidden.one_size", "--cases").out


def test_coverage_without_search_does_not_reach_branches(parity, hidden):
    assert parity("run", *TARGET).code == 0


def test_coverage_save_requires_search(parity):
    result = parity("coverage", "fill.fill", "--save")
    assert result.code == 2 and "--lead N" in result.err
