"""The cases that are tried with a fault."""

from parity.engine import worker
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
