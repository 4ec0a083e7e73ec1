"""What a newer version of HIP changes: values compared case by case, compile errors, registers and spills."""

import numpy as np
import pytest

from parity.compare.arbitration import Conclusion, SideResult
from parity.compare.verdict import Status, Verdict
from parity.engine.case_records import COMPILE_ERROR, CaseRecord, Column, CrossVendorComparison
from parity.engine.cross_vendor import compare_versions
from parity.model.code_object import CodeObject, Kernel
from parity.reference.expected import Expected
from parity.report.upgrade import markdown, totals, upgrades

OLD, NEW = (Column("emulated", f"gfx90a@{version}") for version in ("6.2", "7.2"))
PASS, FAIL = Verdict(Status.PASS), Verdict(Status.FAIL, "value")


def side(value, verdict=PASS):
    return SideResult(verdict, np.array([value], np.float32))


@pytest.mark.parametrize(
    ("old", "new", "conclusion", "elements"),
    [
        (side(1), side(1), Conclusion.SAME, 0),
        (side(1), side(2), Conclusion.RIGHT, 1),
        (side(1), side(2, FAIL), Conclusion.AMD, 1),
        (side(1, FAIL), side(2), Conclusion.CUDA, 1),
    ],
    ids=["same bits", "other bits", "newly wrong", "no longer wrong"],
)
def test_compare_versions_compares_newer_with_oldest(old, new, conclusion, elements):
    expected = Expected(np.array([1], np.float32))
    alone = Column("emulated", "gfx1100@7.2")
    found = compare_versions({OLD: old, NEW: new, alone: side(5), Column("ptx", "sm_90"): side(9)}, lambda: expected)
    assert list(found) == [NEW]
    assert (found[NEW].conclusion, found[NEW].elements) == (conclusion, elements)
    assert found[NEW].column.startswith("gfx90a@6.2")


def record(kernel, column, conclusion=None, elements=0, ulps=0.0):
    against = conclusion and CrossVendorComparison(conclusion, elements, 8, ulps, column="old")
    names = (f"{kernel}(x=8)", kernel, kernel, "m", column.runner, column.target, column.evidence)
    return CaseRecord(*names, PASS, upgrade=against)


def code(**vgprs):
    kernels = {
        name: Kernel(name=name, args=(), kernarg_bytes=0, lds_bytes=0, scratch_bytes=0, vgprs=number, sgprs=16,
                     spills=number // 100, wavefront=64, max_threads=256, hidden=())
        for name, number in vgprs.items()
    }  # fmt: skip
    return CodeObject("m", "gfx90a", b"", kernels, "digest")


def test_upgrade_report_has_changed_kernels_and_totals():
    records = [
        *(record("same", OLD), record("same", NEW, Conclusion.SAME)),
        *(record("bits", OLD), record("bits", NEW, Conclusion.RIGHT, 3, 2.0), record("bits", NEW, Conclusion.SAME)),
        *(record("wrong", OLD), record("wrong", NEW, Conclusion.AMD, 1), record("wrong", NEW, Conclusion.RIGHT, 1)),
        record("lost", OLD),
    ]
    names = ("", "lost", "lost", "m", NEW.runner, NEW.target, NEW.evidence)
    lost = CaseRecord(*names, Verdict(Status.FAIL, COMPILE_ERROR))
    built = {("m", OLD): code(same=8, bits=8, wrong=8), ("m", NEW): code(same=8, bits=8, wrong=108)}
    found = upgrades([OLD, NEW], records, [lost], built)
    text = markdown(found)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "->" in line]
    head = ["gfx90a", "6.2 -> 7.2"]
    assert rows == [
        [*head, "bits", "", "other bits, within bounds, 2 ULP", "8", "16", "0"],
        [*head, "wrong", "", "wrong", "8 -> 108", "16", "0 -> 1"],
        [*head, "lost", "no longer compiles", "", "", "", ""],
    ]
    assert [*totals(found)] == [
        "gfx90a, HIP 6.2 to 7.2: 4 kernels, 1 other bits, within bounds, 1 wrong, 1 more VGPRs, 1 more spills, "
        "1 no longer compiles"
    ]


def test_upgrade_report_without_comparison_does_not_claim_same_values():
    """Without a reference, CUDA's results or code, no case compares the versions."""
    names = ("", "refused", "refused", "m")
    refused = [
        CaseRecord(*names, column.runner, column.target, column.evidence, Verdict(Status.FAIL, COMPILE_ERROR))
        for column in (OLD, NEW)
    ]
    found = upgrades([OLD, NEW], [record("alone", OLD), record("alone", NEW)], refused, {})
    assert markdown(found) == "gfx90a, HIP 6.2 to 7.2: 2 kernels, 1 not compared, 1 compiles with neither\n"


def test_upgrade_report_of_one_version_is_empty():
    assert upgrades([Column("emulated", "gfx90a")], [record("k", Column("emulated", "gfx90a"))], [], {}) == []
