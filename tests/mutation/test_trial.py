"""The cases that are tried with a fault."""

from types import SimpleNamespace

import numpy as np
import pytest

from parity.engine import worker
from parity.mutation import trial
from parity.mutation.mutant import MutantOutcome, MutantResult, Reason
from parity.mutation.trial import MutatedKernel, _kernel_state, _longer_search
from tests.test_planted_faults import worker_for


def test_longer_search_has_large_cases_of_other_rows(suite, tmp_path):
    plan = worker_for(suite, tmp_path / "work", "im2col1d_u8", examples=20).plan
    (task,) = plan.tasks
    worker.start(plan, tmp_path)
    ready = _kernel_state(MutatedKernel(task, "conv", task.columns[0]))
    found = [each.case for each in _longer_search(ready, 20)]
    assert any(case.is_sparse for case in found)
    assert not {str(case) for case in found} & {each.text for each in ready.cases}


@pytest.mark.parametrize(("sample", "reason"), [(None, Reason.WITHIN), (len, Reason.EQUIVALENT)])
def test_other_sample_of_large_case_is_not_a_changed_result(monkeypatch, sample, reason):
    checked = SimpleNamespace(verdict=SimpleNamespace(budget=0.0), outputs={"out": np.ones(2)})
    monkeypatch.setattr(trial, "_unmutated", lambda *_: (checked, "digest of other elements"))
    monkeypatch.setattr(trial, "_run", lambda *_: ())
    monkeypatch.setattr(trial, "_gap", lambda *_: None)
    case = SimpleNamespace(text="case", call=SimpleNamespace(sample=sample))
    tried = MutantResult(None, MutantOutcome.SURVIVED)
    assert trial._explain_survivor(None, None, tried, [(case, checked)], search=0).reason is reason
