"""``parity merge``: merged shards have the same records and reports as a single run."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from sealing import sealed

from parity.cli import main
from parity.runners.recording_file import read_recording

RUN = ("affine", "unary.neg", "--dtype", "f32,f64", "--target", "gfx1100", "--examples", "1", "-j", "1")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Store the folders and recordings of a run and of its two shards."""
    folder = tmp_path_factory.mktemp("shards")
    for name, options in (("whole", ()), ("1", ("--shard", "1/2")), ("2", ("--shard", "2/2"))):
        assert main(["run", *RUN, *options, "--output", str(folder / name)]) == 0
        assert main(["record", *RUN, *options, "--runner", "emulated", "-o", str(folder / f"{name}.zip")]) == 0
    return folder


@pytest.fixture
def shards(results, tmp_path):
    """Return copies of the shard folders that the test may change."""
    folders = [Path(shutil.copytree(results / name, tmp_path / name)) for name in ("1", "2")]
    for folder in folders:
        head(folder)
    return folders


def records(folder: Path) -> list[str]:
    lines = [json.loads(line) for line in (folder / "record.jsonl").read_text().splitlines()[1:]]
    return sorted(json.dumps({**line, "sha256": ""}) for line in lines)


def untimed(folder: Path) -> dict:
    return {key: value for key, value in json.loads((folder / "matrix.json").read_text()).items() if key != "seconds"}


def head(folder: Path, **changes) -> None:
    """Change the environment in the record of a shard."""
    path = folder / "record.jsonl"
    first, _, rest = path.read_text().partition("\n")
    environment = json.loads(first)["environment"]
    path.write_bytes(sealed(f"{json.dumps({'environment': {**environment, **changes}})}\n{rest}".encode()))
    part = json.loads((folder / "shard.json").read_text())
    (folder / "shard.json").write_text(json.dumps({**part, "record": hashlib.sha256(path.read_bytes()).hexdigest()}))


def test_merge_shards_equals_single_run(parity, results, tmp_path):
    merged = parity("merge", results / "2", results / "1", "-o", tmp_path / "all")
    assert (merged.code, merged.err) == (0, "")
    assert "4 kernels" in merged.out
    assert records(tmp_path / "all") == records(results / "whole")
    assert untimed(tmp_path / "all") == untimed(results / "whole")
    for name in ("failures.txt", "matrix.csv"):
        assert (tmp_path / "all" / name).read_text() == (results / "whole" / name).read_text()
    mine = [untimed(results / name)["kernels"] for name in ("1", "2")]
    assert [len(each) for each in mine] == [2, 2]
    assert not {row["kernel"] for row in mine[0]} & {row["kernel"] for row in mine[1]}


@pytest.mark.thorough  # compiles a kernel
def test_merge_keeps_failures_of_shards(parity, tmp_path, kernels, edit):
    edit(kernels / "affine.cu", "x * mul + add", "x * mul - add")
    for i in (1, 2):
        parity("run", *RUN, "--kernels", kernels, "--shard", f"{i}/2", "--output", tmp_path / str(i))
    merged = parity("merge", tmp_path / "1", tmp_path / "2", "-o", tmp_path / "all", "--kernels", kernels)
    assert merged.code == 1
    assert "FAIL  affine_f32 on gfx1100 (emulated)" in merged.out
    assert f"--kernels {kernels}" in merged.out  # in the command that reproduces the failure


def test_merge_recordings_equals_single_recording(parity, results, tmp_path):
    merged = parity("merge", results / "2.zip", results / "1.zip", "-o", tmp_path / "all.zip")
    assert merged.code == 0
    whole, joined = read_recording(results / "whole.zip"), read_recording(tmp_path / "all.zip")
    assert joined == whole


def test_merge_missing_or_duplicate_shard_is_refused(parity, results, shards, tmp_path):
    alone = parity("merge", results / "1", "-o", tmp_path / "all")
    assert (alone.code, f"shard 2/2 missing: found only 1/2 in {results / '1'}" in alone.err) == (2, True)
    twice = parity("merge", *shards, results / "1", "-o", tmp_path / "all")
    assert (twice.code, "are both shard 1/2" in twice.err) == (2, True)
    for folder in (results / "1", shards[0]):
        assert str(folder) in twice.err
    whole = parity("merge", results / "whole", "-o", tmp_path / "all")
    assert "has the results of a whole run" in whole.err
    mixed = parity("merge", results / "1", results / "2.zip", "-o", tmp_path / "all")
    assert "merge either results or recordings" in mixed.err
    assert not (tmp_path / "all").exists()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        pytest.param({"seed": 7}, "seed (0 in {0}, 7 in {1})", marks=pytest.mark.thorough),
        ({"versions": {"parity": "9"}}, "versions: parity"),
        pytest.param({"sources": {}}, "sources: ", marks=pytest.mark.thorough),
        pytest.param({"machine": "Plan9"}, "machine", marks=pytest.mark.thorough),
        ({"code objects": {"affine gfx1100 emulated": "0"}}, "they compiled affine gfx1100 emulated differently"),
    ],
)
def test_merge_shard_with_other_settings_is_refused(parity, shards, tmp_path, changes, told):
    head(shards[1], **changes)
    result = parity("merge", *shards, "-o", tmp_path / "all")
    assert result.code == 2
    assert f"{shards[0]} and {shards[1]} are not shards of one run" in result.err
    assert told.format(*shards) in result.err or told.partition(" (")[0] in result.err


def test_merge_interrupted_or_replaced_shard_is_refused(parity, shards, tmp_path):
    path = shards[0] / "record.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    assert "shard 1/2 did not finish" in parity("merge", *shards, "-o", tmp_path / "all").err
    path.write_bytes(sealed(path.read_bytes().rstrip().rpartition(b"\n")[0] + b'\n{"complete":true}\n'))
    assert "does not belong to the same run as record.jsonl" in parity("merge", *shards, "-o", tmp_path / "all").err


def test_merge_shard_without_results_of_a_kernel_is_refused(parity, shards, tmp_path):
    path = shards[1] / "record.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    kernel = json.loads(lines[1])["kernel"]
    path.write_bytes(b"".join(line for line in lines if f'"kernel":"{kernel}"'.encode() not in line))
    head(shards[1])
    result = parity("merge", *shards, "-o", tmp_path / "all")
    assert (result.code, f"{shards[1]} has no result of " in result.err) == (2, True), result.err


def test_shard_costs_balance_shards(parity, results, shards, tmp_path):
    path = tmp_path / "matrix.json"
    matrix = untimed(results / "whole")
    matrix["kernels"][0]["cells"][0]["instructions"] = 10**12
    path.write_text(json.dumps({**matrix, "seconds": 1}))
    out = tmp_path / "2 by costs"
    assert parity("run", *RUN, "--shard", "2/2", "--costs", path, "--output", out).code == 0
    assert len(untimed(out)["kernels"]) == 3  # all except the most expensive kernel
    result = parity("merge", shards[0], out, "-o", tmp_path / "all")
    assert "give every shard the same file with --costs" in result.err
    assert "--costs balances shards" in parity("run", *RUN, "--costs", path).err
    assert "is not a shard; write 3/8" in parity("run", *RUN, "--shard", "two").err
    assert "there is no shard 3/2" in parity("run", *RUN, "--shard", "3/2").err
    assert "the run has 4 kernels" in parity("run", *RUN, "--shard", "3/5").err


def test_whole_run_removes_shard_file(parity, shards):
    assert (shards[0] / "shard.json").exists()
    assert parity("run", "unary.neg", "--dtype", "f32", "--target", "gfx1100", "--output", shards[0]).code == 0
    assert not (shards[0] / "shard.json").exists()


def test_merge_uses_declarations_of_checkout(parity, shards, tmp_path, affine_cases):
    result = parity("merge", *shards, "-o", tmp_path / "all", "--cases", affine_cases)
    assert (result.code, "changed since the shards ran" in result.err) == (2, True)
