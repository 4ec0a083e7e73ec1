"""The registry of runners, and its messages about defective plug-ins."""

from __future__ import annotations

import pytest

from parity.application.columns import select_columns
from parity.cli.doctor import checks
from parity.errors import NotAvailable, UsageError
from parity.runners import Evidence, Runner, available, kernel_runner, plugin_conflicts, runner, runners

LIBRARY = """
import numpy as np
from parity.runners import Evidence, Probe

class Other:
    name, evidence, vendor = 'other', Evidence.LIBRARY, 'host'
    def probe(self): return Probe(True)
    def targets(self): return ('cpu',)
    def compute(self, target, asked): raise NotImplementedError
"""


@pytest.fixture
def install(installed, tmp_path, monkeypatch):
    """Install a plug-in ``other`` with a source text. The cache is empty, so that ``checks`` is fast."""
    monkeypatch.setenv("PARITY_CACHE", str(tmp_path / "cache"))
    return lambda source, name="other_runner", point="other": installed(name, source, **{point: "Other"})


def test_emulated_runner_implements_protocol():
    found = runner("emulated")
    assert isinstance(found, Runner)
    assert found.evidence is Evidence.EMULATED
    assert found.vendor == "amd"


def test_runners_does_not_import_plugins(install):
    install("raise RuntimeError('imported')", "explosive")
    assert runners()["other"] == "explosive:Other"


@pytest.mark.parametrize(
    ("source", "name", "says"),
    [
        ("raise RuntimeError('broken')", "breaks_on_import", "cannot be loaded: RuntimeError: broken"),
        ("raise SystemExit(1)", "leaves_on_import", "cannot be loaded: SystemExit: 1"),
        ("class Another: pass", "lacks_the_class", "cannot be loaded: AttributeError"),
        ("class Other:\n    name = 'other'\n", "lacks_methods", r"lacks the methods probe, targets, open .* evidence"),
        (LIBRARY.replace("def compute", "def cmpute"), "lacks_compute", r"lacks the method open \(for .* or compute"),
        (LIBRARY.replace("'other'", "'another'"), "has_another_name", "its name must be 'other', not 'another'"),
        (LIBRARY.replace("LIBRARY", "HARDWARE"), "claims_hardware", "its evidence must be 'library'"),
        (
            LIBRARY.replace("'host'", "'intel'"),
            "has_no_vendor",
            "vendor must be 'amd' or 'cuda' or 'host', not 'i",
        ),
        (
            LIBRARY.replace("LIBRARY", "RECORDED").replace("def compute", "def open"),
            "has_no_recording",
            "it has no recording, so its evidence cannot be 'recorded'",
        ),
        (
            LIBRARY.replace("def compute", "recording = {}\n    def compute"),
            "has_a_recording",
            "it has a recording, so its evidence must be 'recorded'",
        ),
        (LIBRARY.replace("Probe(True)", "1 / 0"), "raises_in_probe", "raises_in_probe.Other raised ZeroDivisionError"),
        (LIBRARY.replace("('cpu',)", "'cpu'"), "has_no_tuple", "has_no_tuple.Other must be a tuple of words"),
    ],
)
def test_defective_plugin_is_named_and_other_runners_work(install, source, name, says):
    install(source, name)
    with pytest.raises(NotAvailable, match=says) as error:
        available("other")
    assert name in str(error.value)
    chosen = select_columns(["other", "emulated"], ["gfx1100"])
    assert [str(column) for column in chosen.runnable] == ["gfx1100 emulated"]
    assert chosen.problems == (str(error.value),)
    found = {finding.name: finding for finding in checks() if finding.group == "runners"}
    assert found["emulated"].ok
    assert not found["other"].ok


def test_name_claimed_by_two_packages_is_not_available(install):
    install(LIBRARY, "first_package")
    install(LIBRARY, "second_package")
    with pytest.raises(NotAvailable, match=r"first_package .* and second_package .* both offer .*'other'; uninstall"):
        runner("other")
    assert runner("emulated").name == "emulated"


def test_plugin_cannot_replace_built_in_runner(install):
    install(LIBRARY.replace("'other'", "'emulated'"), "taker", "emulated")
    assert isinstance(runner("emulated"), Runner)
    assert [name for name, _ in plugin_conflicts()] == ["emulated"]
    (finding,) = [each for each in checks() if each.name == "emulated" and not each.ok]
    assert "taker" in finding.advice


def test_kernel_runner_refuses_op_runner(install):
    install(LIBRARY, "a_library")
    with pytest.raises(UsageError, match="parity bench needs a runner of kernels, but the runner 'other' computes ops"):
        kernel_runner("other", "parity bench")


def test_unknown_runner_suggests_nearest_name():
    with pytest.raises(UsageError, match="did you mean emulated"):
        runner("emulate")


def test_unavailable_runner_states_installation(install):
    install(
        "from parity.runners import Evidence, Probe\n"
        "class Other:\n"
        "    name, evidence, vendor = 'other', Evidence.HARDWARE, 'cuda'\n"
        "    def probe(self): return Probe(False, 'no GPU', 'buy one')\n"
        "    def targets(self): return ()\n"
        "    def open(self, target, *, checked=True): raise AssertionError\n",
        "needs_a_gpu",
    )
    with pytest.raises(NotAvailable, match="no GPU; buy one"):
        available("other")
