"""The GitHub Actions workflow and action: sessions, targets, inputs, outputs and protection of own machines."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from benchmarks import rocm_root
from parity.compilers.targets import TARGETS

ROOT = Path(__file__).parent.parent
WORKFLOW = (ROOT / ".github" / "workflows" / "parity.yml").read_text()
DOCUMENTED = (ROOT / "docs" / "ci.md").read_text()


@pytest.fixture(scope="module")
def jobs():
    return yaml.safe_load(WORKFLOW)["jobs"]


def commands(jobs):
    return "\n".join(step.get("run", "") for job in jobs.values() for step in job["steps"])


def test_workflow_runs_existing_nox_sessions(jobs):
    functions = [f for f in ast.parse((ROOT / "noxfile.py").read_text()).body if isinstance(f, ast.FunctionDef)]
    sessions = {f.name for f in functions if any(ast.unparse(d).startswith("nox.session") for d in f.decorator_list)}
    run = re.findall(r'nox"? -s "?([a-z ]+)', commands(jobs))
    named = {name for names in run for name in names.split()}
    assert named == {"lint", "typecheck", "tests", "examples", "docs", "parity", "report", "record", "compare"}
    assert named <= sessions


def test_workflow_has_job_for_every_target(jobs, tmp_path):
    job = jobs["emulated"]
    assert job["needs"] == "targets"
    assert job["strategy"]["matrix"]["target"] == "${{ fromJSON(needs.targets.outputs.names) }}"
    (step,) = (step for step in jobs["targets"]["steps"] if "run" in step)
    assert jobs["targets"]["outputs"]["names"] == f"${{{{ steps.{step['id']}.outputs.names }}}}"
    output = tmp_path / "output"
    subprocess.run(["bash", "-ec", step["run"]], cwd=ROOT, env={**os.environ, "GITHUB_OUTPUT": str(output)}, check=True)
    name, _, value = output.read_text().partition("=")
    assert (name, json.loads(value)) == ("names", [*TARGETS])


def test_workflow_runs_every_check_with_rocm(jobs):
    assert jobs["rocm"]["strategy"]["matrix"]["check"] == list(rocm_root.CHECKS)
    assert "rocm_root --here --check ${{ matrix.check }}" in commands(jobs)
    assert all(any(name in command for command in rocm_root.CHECKS["suite"]) for name in TARGETS)


def test_workflow_skips_self_hosted_jobs_for_pull_requests(jobs):
    own = [job for job in jobs.values() if "self-hosted" in job["runs-on"]]
    assert own
    assert all(job["if"].startswith("github.event_name != 'pull_request' && ") for job in own)


@pytest.fixture(scope="module")
def action():
    return yaml.safe_load((ROOT / ".github" / "actions" / "parity" / "action.yml").read_text())


def test_action_uses_declared_inputs_only(action, jobs):
    text = (ROOT / ".github" / "actions" / "parity" / "action.yml").read_text()
    assert set(re.findall(r"inputs\.(\w+)", text)) == set(action["inputs"])
    shown = re.findall(
        r"uses: \S*/\.github/actions/parity(?:@\S+)?\n +with:\n((?: +\w+: .*\n)+)", DOCUMENTED + WORKFLOW
    )
    assert len(shown) == 2
    assert {name for each in shown for name in re.findall(r"(\w+):", each)} <= set(action["inputs"])


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [("fill_f32 --examples 1", 0, "| fill "), ("no_such_kernel", 2, "")],
)
def test_action_outputs_exit_code_and_comment(action, tmp_path, arguments, code, told):
    (step,) = (step for step in action["runs"]["steps"] if step.get("id") == "run")
    inputs = {"kernels": "kernels", "cases": "", "targets": "gfx1100", "arguments": arguments, "output": str(tmp_path)}
    given = {
        name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda m: inputs[m[1]], value) for name, value in step["env"].items()
    }
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, **given, "PATH": path, "GITHUB_OUTPUT": str(tmp_path / "outputs")}
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", step["run"]], cwd=ROOT, env=environment, check=False)
    assert done.returncode == code
    outputs = (tmp_path / "outputs").read_text()
    found = re.fullmatch(r"code=(\d+)\ncomment<<(\S+)\n(.*)\n\2\n", outputs, re.DOTALL)
    assert found and int(found[1]) == code and told in found[3]
