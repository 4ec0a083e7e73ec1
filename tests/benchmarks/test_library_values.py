"""Values of libraries are recorded on one machine and compared on another."""

import csv

import numpy as np
import pytest

from benchmarks import library_values
from parity.errors import Unsupported
from parity.runners import Evidence, Probe


class Products:
    """Matrix products by NumPy. ``offset`` is added to products of f64."""

    name, evidence, vendor = "products", Evidence.LIBRARY, "host"

    def __init__(self, offset=0.0):
        self.offset = offset

    def probe(self):
        return Probe(True)

    def targets(self):
        return ("here",)

    def compute(self, target, asked):
        if asked.op != "gemm.matmul" or asked.dtype.name not in ("f32", "f64"):
            raise Unsupported(f"no {asked.op} of {asked.dtype.name}")
        found = asked.inputs["a"].astype(np.float64) @ asked.inputs["b"].astype(np.float64)
        return (found + self.offset * (asked.dtype.name == "f64")).astype(asked.dtype.numpy)


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Return a function that calls the command with a library."""

    def call(found, *arguments):
        monkeypatch.setattr(library_values, "library", lambda spec: (found, "here"))
        return library_values.main([arguments[0], str(tmp_path / "values.zip"), *arguments[1:], "-o", str(tmp_path)])

    return call


def rows(folder):
    with (folder / "library-values.csv").open() as table:
        return {(row["case"].partition("(")[0], row["result"]) for row in csv.DictReader(table)}


def test_wrong_values_of_either_side_are_named(run, tmp_path, capsys):
    assert run(Products(), "record", "gemm.matmul", "--examples", "1") == 0
    assert "no gemm.matmul of f16" in capsys.readouterr().out
    assert run(Products(), "compare", "--runner", "x") == 0
    same = {("gemm.matmul[f32]", "identical"), ("gemm.matmul[f64]", "identical")}
    assert rows(tmp_path) == same
    assert run(Products(offset=1.0), "compare", "--runner", "x") == 1
    assert ("gemm.matmul[f64]", "AMD is wrong") in rows(tmp_path)
    assert run(Products(offset=1.0), "record", "gemm.matmul[f64]", "--examples", "1") == 0
    assert run(Products(), "compare", "--runner", "x") == 0
    assert ("gemm.matmul[f64]", "CUDA is wrong") in rows(tmp_path)


def test_nothing_to_record_is_a_failure(run):
    assert run(Products(), "record", "gemm.batched") == 1


def test_other_inputs_than_recorded_are_not_compared(run, tmp_path, monkeypatch):
    assert run(Products(), "record", "gemm.matmul", "--examples", "1") == 0
    monkeypatch.setattr(library_values, "computation_digest", lambda asked: "")
    assert run(Products(), "compare", "--runner", "x") == 0
    assert {result for _, result in rows(tmp_path)} == {"other inputs than recorded"}
