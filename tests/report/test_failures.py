"""The text of failures."""

from __future__ import annotations

import math
import shlex
from dataclasses import replace

import pytest

from parity.compare.arbitration import Conclusion
from parity.compare.verdict import Fact, Mismatch, Status, Verdict
from parity.compilers.compile_options import Sides
from parity.engine.case_records import CaseRecord, CrossVendorComparison
from parity.errors import UsageError
from parity.op import Op
from parity.report.excerpts import NO_SOURCES, SourceFolders
from parity.report.failures import (
    CLASSES,
    Failure,
    Reproduction,
    by_cause,
    failure_text,
    failures_file,
    shown_failures,
)
from parity.report.folder import output_folder
from parity.suite.loading import Suite

VERDICT = Verdict(
    Status.FAIL,
    "value",
    budget=31.0,
    wrong=4,
    total=12,
    first=Mismatch((1, 0), "1.5", "1.25", 2097152.0, 31.0),
    pattern="every 3rd element (from 0)",
)
RECORD = CaseRecord(
    "unary.exp[f32](x=4x3~mixed@3)",
    "unary.exp",
    "uexp_f32",
    "unary",
    "emulated",
    "gfx1100",
    "emulated",
    VERDICT,
    launch="uexp_f32<<<1x1x1, 1024x1x1>>>(u64(12))",
    inputs={"x": "0.4"},
)


exp = Op("unary.exp", kernel="uexp_{T}", types=("f32",), args="x out", inputs={"x": "T"})


def text_of(record, sources=NO_SOURCES):
    return failure_text(Failure((record,)), Reproduction(), sources)


def test_failure_shows_control_characters_as_escapes():
    """Otherwise a message could colour, move or hide text of a report on a terminal."""
    loud = replace(
        RECORD, title="\x1b[2J\u202e", printed="a\r\nb\x07\tc", verdict=replace(VERDICT, detail="\x9b31mred")
    )
    text = text_of(loud)
    assert r"named     \x1b[2J\u202e" in text and r"because   \x9b31mred" in text
    assert "printed   a\n" in text and "b\\x07\tc" in text
    unjudged = replace(loud, verdict=Verdict(Status.NOT_JUDGED, "reference", detail="\x1b[31mred"))
    assert r"\x1b[31mred" in failures_file([unjudged], Reproduction())


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """The sources of a suite, in the working folder."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("kernels/unary.cu", "\nvoid uexp_f32(...)\n"), ("hip/unary.hip", "// uexp_f32\nuexp_f32 {\n")):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    sides = Sides(ported=tmp_path / "hip")
    return SourceFolders.of(Suite(tmp_path / "kernels", tmp_path, {"unary.exp": exp}, sides=sides))


def test_failure_text_contains_all_fields(sources):
    minimal = replace(RECORD, case="unary.exp[f32](x=1~mixed@9)")
    text = text_of(replace(RECORD, minimal=minimal), sources)
    for part in (
        *("uexp_f32", "gfx1100", "emulated", "value", "x=1~mixed@9", "x=4x3~mixed@3", "<<<1x1x1", "(1, 0)", "x = 0.4"),
        *("1.5", "1.25", "2.09715e+06 ULP", "31 times", "4 of 12", "every 3rd", "hip/unary.hip:2   uexp_f32 {"),
        "parity run 'unary.exp[f32](x=1~mixed@9)'",
    ):
        assert part in text


AGAINST = CrossVendorComparison(
    Conclusion.AMD, 4, 12, 9.0, value="1.5", budget=0.113, column="sm_90 (recorded on NVIDIA H200)"
)
FAULT = Verdict(Status.FAIL, "out-of-bounds read", detail="far out")
SMALL = replace(RECORD, case="unary.exp[f32](x=1~mixed@9)")


@pytest.mark.parametrize(
    ("record", "says"),
    [
        (
            replace(RECORD, against=AGAINST),
            "gfx1100 is wrong: sm_90 (recorded on NVIDIA H200) gives 1.5, within 12 % of its budget",
        ),
        (
            replace(RECORD, against=replace(AGAINST, budget=0.0), minimal=SMALL),
            "gfx1100 is wrong: in the case as found, sm_90 (recorded on NVIDIA H200) gives 1.5, as expected; here it "
            "is 1.25",
        ),
        (
            replace(RECORD, verdict=FAULT, against=replace(AGAINST, value="")),
            "gfx1100 is wrong: sm_90 (recorded on NVIDIA H200) passes, within 12 % of its budget",
        ),
        (
            replace(
                RECORD,
                target="sm_90",
                against=replace(AGAINST, conclusion=Conclusion.CUDA, column="gfx1100 (emulated)"),
            ),
            "sm_90 is wrong: gfx1100 (emulated) gives 1.5, within 12 % of its budget",
        ),
        (
            replace(RECORD, against=replace(AGAINST, conclusion=Conclusion.REFERENCE, ulps=0.0)),
            "the reference is suspect: sm_90 (recorded on NVIDIA H200) fails as well and gives 1.5, the same",
        ),
        (
            replace(RECORD, against=replace(AGAINST, conclusion=Conclusion.REFERENCE)),
            "the reference is suspect: sm_90 (recorded on NVIDIA H200) fails as well and gives 1.5, "
            "no more than 9 ULP away",
        ),
        (
            replace(RECORD, against=replace(AGAINST, conclusion=Conclusion.BOTH)),
            "gfx1100 and sm_90 (recorded on NVIDIA H200) are wrong, and differ: the latter gives 1.5",
        ),
        (
            replace(RECORD, verdict=FAULT, against=replace(AGAINST, conclusion=Conclusion.BOTH, value="")),
            "gfx1100 and sm_90 (recorded on NVIDIA H200) both fail: either the kernel is wrong, or it is declared in "
            "another way than its host launches it (shapes=, args=, grid= and block= of the op)",
        ),
    ],
)
def test_who_line_names_wrong_side(record, says):
    (line,) = [line for line in text_of(record).splitlines() if line.startswith("  who")]
    assert line.split(maxsplit=1)[1] == says


def test_who_line_without_other_vendor_is_omitted():
    assert "  who" not in text_of(RECORD)


def test_infinite_distance_is_omitted():
    nan = replace(VERDICT, first=Mismatch((0,), "1.5", "nan", math.inf, math.inf))
    assert "ULP" not in text_of(replace(RECORD, verdict=nan))


def test_fault_message_is_complete():
    fault = Verdict(Status.FAIL, "out-of-bounds read", detail="line one\n  line two")
    lines = text_of(replace(RECORD, verdict=fault)).splitlines()
    assert any("line one" in line for line in lines)
    assert any("line two" in line for line in lines)
    assert not any("expected" in line for line in lines)


def test_failure_str_is_its_text():
    assert str(Failure((RECORD,))) == failure_text(Failure((RECORD,)), Reproduction())


def test_reproduction_command_is_shell_quoted():
    command = Reproduction(options=("--kernels", "my kernels", "--target", "gfx1100")).of(RECORD)
    assert shlex.split(command) == ["parity", "run", RECORD.case, "--kernels", "my kernels", "--target", "gfx1100"]


def test_shown_failures_per_kernel_are_limited_and_rest_counted():
    plain = [replace(RECORD, case=f"unary.exp[f32](x={n}~mixed@0)") for n in range(1, 6)]
    small = replace(RECORD, minimal=RECORD)
    crash = replace(RECORD, verdict=Verdict(Status.CRASH, "crash"))
    shown = shown_failures([*plain, small, crash, replace(RECORD, verdict=Verdict(Status.PASS, total=1))])
    assert shown == [Failure((small,), 0), Failure((crash,), 5)]


def test_equal_failure_on_targets_is_shown_once():
    here = replace(RECORD, minimal=SMALL, against=AGAINST)
    there = replace(here, target="gfx90a", minimal=replace(SMALL, target="gfx90a"))
    other = replace(here, target="gfx1030", minimal=replace(SMALL, target="gfx1030", inputs={"x": "0.5"}))
    more = [replace(record, case="another") for record in (here, there)]
    shown = shown_failures([here, more[0], there, more[1], other])
    assert shown == [Failure((here, there), 2), Failure((other,))]
    text = failure_text(shown[0], Reproduction())
    assert text.startswith("FAIL  uexp_f32 on gfx1100 and gfx90a (emulated): value\n")
    assert "gfx1100 and gfx90a are wrong: in the case as found, sm_90" in text


def fault(target, detail, **more):
    verdict = Verdict(Status.FAIL, "out-of-bounds read", detail=f"{detail}\n  instruction: one of {target}")
    return replace(RECORD, target=target, verdict=verdict, inputs={}, **more)


def test_failure_differing_in_listing_lines_is_shown_once():
    here = fault("gfx1100", "out-of-bounds read of 4 bytes at a.cu:7, listing line 12")
    there = fault("gfx90a", "out-of-bounds read of 4 bytes at a.cu:7, listing line 99")
    elsewhere = fault("gfx1030", "out-of-bounds read of 4 bytes at a.cu:8, listing line 12")
    assert shown_failures([here, there, elsewhere]) == [Failure((here, there)), Failure((elsewhere,))]


def test_failure_of_both_sides_without_value_shows_declaration_once():
    both = replace(AGAINST, conclusion=Conclusion.BOTH, value="")
    cuda = fault("sm_90", "at a.cu:7", against=replace(both, column="gfx1100 (emulated)"))
    amd = fault("gfx1100", "at a.hip:9", against=replace(both, column="sm_90 (emulated)"))
    shown = shown_failures([cuda, amd])
    assert shown == [Failure((cuda, amd))]
    lines = failure_text(shown[0], Reproduction(), declared="cases/a.py:3").splitlines()
    assert lines[0] == "FAIL  uexp_f32 on sm_90 and gfx1100 (emulated): out-of-bounds read"
    assert any(line.startswith("  who       sm_90 and gfx1100 (emulated) both fail: ") for line in lines)
    assert "  declared  cases/a.py:3" in lines
    alone = fault("gfx1100", "at a.hip:9")
    assert shown_failures([fault("sm_90", "at a.cu:7"), alone])[1] == Failure((alone,))


def test_kernel_file_for_amd_is_ported_file(sources, tmp_path):
    assert sources.kernel_file(RECORD) == tmp_path / "hip" / "unary.hip"
    assert sources.kernel_file(replace(RECORD, target="sm_90")) == tmp_path / "kernels" / "unary.cu"


def failing(kind="value", detail="", **more):
    return replace(RECORD, verdict=replace(VERDICT, kind=kind, detail=detail), **more)


@pytest.mark.parametrize(
    ("record", "place"),
    [
        (RECORD, "hip/unary.hip:2   uexp_f32 {"),
        (failing(target="sm_90", against=AGAINST), "kernels/unary.cu:2   void uexp_f32(...)"),
        (failing(detail="f32 at unary.hip:1\nand\nthen\nlast"), "hip/unary.hip:1   //"),
        (failing("data race", "at unary.hip:2" + "\n  more" * 9), "hip/unary.hip:2"),
        (failing(kernel="absent"), "hip/unary.hip"),
    ],
)
def test_first_ten_lines_name_class_target_source_line_and_next_step(sources, record, place):
    head, *lines = text_of(record, sources).splitlines()[:10]
    assert record.target in head and head.endswith(f": {record.verdict.kind}")
    assert any(line.startswith(f"  where     {place}") for line in lines)
    assert any(line.startswith("  next      ") for line in lines)


@pytest.mark.parametrize("kind", CLASSES)
def test_every_class_has_next_step(kind):
    (line,) = (line for line in text_of(failing(kind)).splitlines() if line.startswith("  next"))
    assert len(line) <= 100 and "{" not in line


def test_long_reason_is_wrapped_and_command_is_not():
    long = failing(detail="  one two" * 20, case=f"{RECORD.case}{' ' * 99}")
    lines = failure_text(Failure((long,)), Reproduction(), width=60).splitlines()
    reason = [line for line in lines if "one two" in line]
    assert len(reason) > 1 and all(line.startswith(" " * 14) or "because" in line for line in reason)
    assert max(map(len, reason)) <= 60 < len(lines[-1])


def test_next_step_of_wrong_width_is_to_state_width():
    wide = replace(VERDICT, facts=(Fact.PASSES_AT_OTHER_WIDTH,))
    assert "  next      let shuffles, votes and loops over lanes state their" in text_of(replace(RECORD, verdict=wide))


@pytest.mark.parametrize(
    ("detail", "step"),
    [
        ("cases/a.py:3: op unary.exp: the reference gives int64 for out", "correct the declaration"),
        ("argument 3 'n' has 2 bytes, not 4", "compare args="),
    ],
)
def test_next_step_of_error_depends_on_its_origin(detail, step):
    assert f"  next      {step}" in text_of(failing("error", detail=detail))


def test_unsupported_case_is_not_failure():
    unsupported = replace(RECORD, verdict=Verdict(Status.UNSUPPORTED, "not recorded"))
    assert shown_failures([unsupported]) == []
    assert failures_file([unsupported], Reproduction()) == "no failures\n"


def test_failures_file_names_each_failing_case():
    records = [replace(RECORD, case=f"unary.exp[f32](x={n}~mixed@0)") for n in range(1, 6)]
    text = failures_file(records, Reproduction())
    assert all(record.case in text for record in records)
    assert failures_file([], Reproduction()) == "no failures\n"


def test_unwritable_output_folder_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="--output"), output_folder(tmp_path / "file" / "out"):
        pass


def test_failures_at_one_line_of_source_have_one_cause():
    def fault(kernel, line, target="gfx1100"):
        detail = f"out-of-bounds read of 4 bytes in kernel {kernel!r} at src/m.cu:{line}, listing line 7"
        verdict = Verdict(Status.FAIL, "out-of-bounds read", detail=detail)
        return replace(RECORD, kernel=kernel, op=f"m.{kernel}", target=target, verdict=verdict)

    records = [fault("a", 3), fault("b", 3), fault("c", 4), fault("d", 3, "gfx90a"), RECORD]
    kernels = [[each.kernels for each in alike] for alike in by_cause(shown_failures(records))]
    assert kernels == [[("a",), ("b",)], [("c",)], [("d",)], [("uexp_f32",)]]
