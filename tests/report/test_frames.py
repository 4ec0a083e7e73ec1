"""Pandas tables: contents, types, and round trips through files."""

from __future__ import annotations

import importlib.util
import math
from dataclasses import replace

import pandas
import pytest

from parity.compare.verdict import Status, Verdict
from parity.emulator.amdgpu.classes import CLASSES
from parity.engine.bench import Measurement
from parity.engine.bench_baseline import BenchChange, BenchVerdict
from parity.engine.case_records import CaseRecord, Column
from parity.footprint.measure import Footprint
from parity.model.coverage import Reached
from parity.report.bench import BenchResults
from parity.report.frames import (
    BENCH_TYPES,
    CASE_TYPES,
    MATRIX_TYPES,
    STATIC_TYPES,
    bench_frame,
    case_frame,
    matrix_frame,
    static_frame,
)
from parity.report.matrix import make_matrix
from parity.runners.timing import Timing, Timings

GFX = Column("emulated", "gfx1100")
COLD, HOT = Timing(2e-4, 1.9e-4, 2.5e-4, 0.001, 50), Timing(1e-4, 1e-4, 1e-4, 0.002, 500)
TIMED = Measurement(
    "unary", "unary.neg", ("f32",), "uneg_f32", "contiguous", "unary.neg[f32](x=8)", "cuda", "sm_90", "hardware",
    bytes=400_000_000, operations=50_000_000, elements=50_000_000, timings=Timings(COLD, HOT, 5e-6), copy=4e12,
    drift=0.01, rate=6e13, notes=("one", "two"),
)  # fmt: skip
COUNTED = replace(
    TIMED, target="gfx1100", evidence="emulated", title="", timings=None, copy=0.0, drift=0.0, rate=0.0,
    instructions={"valu": 100, "vmem load": 7}, notes=(),
)  # fmt: skip
WRONG = replace(TIMED, title="", timings=None, notes=(), problem="it is wrong")
CHANGES = [
    BenchChange(BenchVerdict.SLOWER, 0.8, 0.01),
    BenchChange(BenchVerdict.NEW),
    BenchChange(BenchVerdict.UNMEASURED),
]
AMD = Footprint(
    "unary", "uneg_f32", "gfx1100", 24, 36, 0, 16, 0, 1024, 0.75, 1916, {"valu": 123, "vmem store": 2, "wait": 66}
)
CUDA = replace(AMD, target="sm_90", sgprs=None, code_bytes=None, mix=None, occupancy=None)


def record(kernel, verdict, **more):
    case = f"unary.neg[{kernel.removeprefix('uneg_')}](x=8)"
    return replace(CaseRecord(case, "unary.neg", kernel, "unary", "emulated", "gfx1100", "emulated", verdict), **more)


RECORDS = [
    record(
        "uneg_f32",
        Verdict(Status.PASS, total=1, budget=0.25, divergences=("D5", "D14")),
        title="a case",
        instructions=9,
        reached=Reached.of(8, 4, 0b0101_00001111),
    ),
    record("uneg_f32", Verdict(Status.FAIL, "nan", budget=math.inf, wrong=3, total=8)),
    record("uneg_f16", Verdict(Status.FAIL, "value", wrong=1, total=8), known="known-issues.toml, line 3"),
]


@pytest.fixture
def frames(suite):
    """Return each kind of table with the types of its columns."""
    matrix = make_matrix(suite.select(["unary.neg"]).entries, [GFX], RECORDS)
    return {
        "cases": (case_frame(RECORDS), CASE_TYPES),
        "matrix": (matrix_frame(matrix), MATRIX_TYPES),
        "bench": (bench_frame([TIMED, COUNTED, WRONG], CHANGES), BENCH_TYPES),
        "static": (static_frame([AMD, CUDA]), STATIC_TYPES),
    }


KINDS = ("cases", "matrix", "bench", "static")
READ = {"keep_default_na": False, "na_values": [""]}


@pytest.mark.parametrize("kind", KINDS)
def test_frames_have_documented_types(frames, kind):
    frame, types = frames[kind]
    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == types


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["csv", "excel", "parquet"])
def test_frame_file_round_trips(frames, kind, form, tmp_path):
    frame, types = frames[kind]
    file = tmp_path / "table"
    match form:
        case "csv":
            frame.to_csv(file, index=False)
            found = pandas.read_csv(file, dtype=types, **READ)
        case "excel":
            frame.to_excel(file, index=False, engine="openpyxl")
            found = pandas.read_excel(file, dtype=types, engine="openpyxl", **READ)
        case _:
            if not (importlib.util.find_spec("pyarrow") or importlib.util.find_spec("fastparquet")):
                pytest.skip("no engine of Parquet is installed")
            frame.to_parquet(file, index=False)
            found = pandas.read_parquet(file)
    pandas.testing.assert_frame_equal(found, frame)


def test_case_and_matrix_frames_contain_coverage(frames):
    names = ["blocks", "blocks_reached", "directions", "directions_reached"]
    for kind in ("cases", "matrix"):
        frame, _ = frames[kind]
        rows = frame[frame.kernel == "uneg_f32"][names]
        assert [*rows.iloc[0]] == [8, 4, 4, 2]
    assert frames["cases"][0][names].iloc[1].isna().all()


def test_bench_frame_contains_times_rates_and_share():
    timed, counted, wrong = bench_frame([TIMED, COUNTED, WRONG]).to_dict("records")
    assert (timed["cold_median"], timed["cold_high"], timed["hot_median"], timed["host"]) == (2e-4, 2.5e-4, 1e-4, 5e-6)
    assert (timed["cold_repetitions"], timed["hot_repetitions"]) == (50, 500)
    assert (timed["share"], timed["bound"], timed["copy_rate"]) == (pytest.approx(0.5), "copy", 4e12)
    assert timed["notes"] == "one; two" and pandas.isna(timed["instructions"])
    assert (counted["instructions"], counted["valu"], counted["vmem_load"], counted["salu"]) == (107, 100, 7, 0)
    for row in (counted, wrong):
        assert all(pandas.isna(row[name]) for name in ("cold_median", "copy_rate", "share", "bound", "title", "change"))
    assert wrong["problem"] == "it is wrong" and pandas.isna(wrong["valu"])


def test_bench_frame_contains_changes():
    frame = BenchResults([TIMED, COUNTED], changes=CHANGES[:2]).frame()
    assert [*frame.change] == ["SLOWER", "not in the baseline"]
    assert frame.change_ratio[0] == 0.8 and frame.change_uncertainty[0] == 0.01
    assert frame[["change_ratio", "change_uncertainty"]].isna().to_numpy().tolist() == [[False] * 2, [True] * 2]
    assert [*BenchResults([TIMED]).frame().change.isna()] == [True]


def test_static_frame_pivots_by_target():
    frame = static_frame([AMD, CUDA])
    assert frame.pivot(index="kernel", columns="target", values="vgprs").loc["uneg_f32"].to_dict() == {
        "gfx1100": 24,
        "sm_90": 24,
    }
    amd, cuda = frame.to_dict("records")
    assert (amd["valu"], amd["vmem_store"], amd["salu"], amd["wait"]) == (123, 2, 0, 66)
    assert all(pandas.isna(cuda[name]) for name in ("sgprs", "code_bytes", "valu", "occupancy"))
    assert {name.replace(" ", "_") for name in CLASSES} <= {*frame.columns}


@pytest.mark.parametrize(("table", "types"), [(bench_frame, BENCH_TYPES), (static_frame, STATIC_TYPES)])
def test_empty_frame_has_columns(table, types):
    assert [*table([]).columns] == [*types] and len(table([])) == 0
