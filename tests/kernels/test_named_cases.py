"""Named cases of the suite."""

from collections import Counter


def test_named_cases_of_kernel_are_distinct(suite):
    for entry in suite.entries:
        runs = Counter(str(case) for _, case in entry.op.named_cases(entry.dtypes))
        assert [text for text, times in runs.items() if times > 1] == []
