"""The workflow of GitHub Actions runs sessions that exist and reads reports that they write."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from parity.toolchain import TARGETS

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def jobs():
    return yaml.safe_load((ROOT / ".github" / "workflows" / "parity.yml").read_text())["jobs"]


def commands(jobs):
    return "\n".join(step.get("run", "") for job in jobs.values() for step in job["steps"])


def test_every_session_that_is_run_exists(jobs):
    functions = [f for f in ast.parse((ROOT / "noxfile.py").read_text()).body if isinstance(f, ast.FunctionDef)]
    sessions = {f.name for f in functions if any(ast.unparse(d).startswith("nox.session") for d in f.decorator_list)}
    run = re.findall(r'nox"? -s "?([a-z ]+)', commands(jobs))
    named = {name for names in run for name in names.split()}
    assert named == {"lint", "typecheck", "tests", "examples", "docs", "parity", "record", "compare"}
    assert named <= sessions


def test_every_target_has_its_job(jobs, tmp_path):
    job = jobs["emulated"]
    assert job["needs"] == "targets"
    assert job["strategy"]["matrix"]["target"] == "${{ fromJSON(needs.targets.outputs.names) }}"
    (step,) = (step for step in jobs["targets"]["steps"] if "run" in step)
    assert jobs["targets"]["outputs"]["names"] == f"${{{{ steps.{step['id']}.outputs.names }}}}"
    output = tmp_path / "output"
    subprocess.run(["bash", "-ec", step["run"]], cwd=ROOT, env={**os.environ, "GITHUB_OUTPUT": str(output)}, check=True)
    name, _, value = output.read_text().partition("=")
    assert (name, json.loads(value)) == ("names", [*TARGETS])


def test_nothing_of_a_pull_request_reaches_a_machine_of_ones_own(jobs):
    own = [job for job in jobs.values() if "self-hosted" in job["runs-on"]]
    assert own
    assert all(job["if"].startswith("github.event_name != 'pull_request' && ") for job in own)
