"""PyTorch, judged by parity in a separate environment."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import parity_torch
import pytest
from parity_torch import Torch

from parity.model.dtypes import dtype
from parity.runners import Computation, Unsupported, available
from parity.testing.failure import ParityFailure

KNOWN = Path(__file__).parents[1] / "known-issues.toml"
SELECTORS = ("affine", "binary", "cast", "sort", "ternary", "unary", "reduce.softmax", "gemm")


def asked(op, x):
    kind = {"float32": "f32", "float16": "f16"}[x.dtype.name]
    return Computation(op, (kind,), {"x": x}, {}, dtype(kind), x.shape)


def test_it_is_installed_and_works_here():
    found = available("torch")
    assert found.targets() == ("cpu",)


def test_every_difference_is_a_known_issue(tmp_path):
    """The matrix of all that this runner has; with -s it is printed."""
    command = [sys.executable, "-m", "parity", "run", *SELECTORS, "--runner", "torch"]
    done = subprocess.run(
        [*command, "--known-issues", KNOWN, "--output", tmp_path], cwd=KNOWN.parent, capture_output=True, text=True
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\d+ passed, 0 failed, \d+ known, ", done.stdout)


def test_a_kernel_of_ours_is_an_item_of_pytest(tmp_path):
    item = f"{KNOWN.parents[2]}/cases/unary.py::unary.exp[f32-torch-cpu]"
    command = [sys.executable, "-m", "pytest", "--parity", "--parity-runner", "torch", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, item], cwd=KNOWN.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_a_planted_fault_is_found(parity_check, monkeypatch):
    def neg(x):
        return Torch().compute("cpu", asked("unary.neg", x))

    parity_check(neg, op="unary.neg", dtype="f32")
    monkeypatch.setitem(parity_torch.OPS, "unary.neg", lambda x: x.abs())
    with pytest.raises(ParityFailure, match=r"unary\.neg\[f32\] by neg on python: value"):
        parity_check(neg, op="unary.neg", dtype="f32")


def test_what_it_does_not_have_is_unsupported():
    with pytest.raises(Unsupported, match=r"PyTorch has no conv\.col2im1d"):
        Torch().compute("cpu", asked("conv.col2im1d", np.zeros(3, np.float32)))


def test_what_is_not_there_is_explained():
    probe = Torch("cuda:77").probe()
    assert not probe.available
    assert "no device 'cuda:77' in this build of PyTorch" in probe.reason
