"""Named cases of the suite."""

from collections import Counter


def test_no_kernel_runs_a_named_case_twice(suite):
    for entry in suite.entries:
        runs = Counter(str(case) for _, case in entry.op.named_cases(entry.dtypes))
        assert [text for text, times in runs.items() if times > 1] == []
