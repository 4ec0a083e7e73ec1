"""Named cases of the suite."""

from collections import Counter

import pytest


def test_named_cases_of_kernel_are_distinct(suite):
    for entry in suite.entries:
        runs = Counter(str(case) for _, case in entry.op.named_cases(entry.dtypes))
        assert [text for text, times in runs.items() if times > 1] == []


@pytest.mark.parametrize("op", ["indexing.index_add", "indexing.scatter_add", "indexing.scatter", "reduce.sum_onto"])
def test_op_that_updates_has_large_case(suite, op):
    dtypes = ("f32",) if op == "reduce.sum_onto" else ("u32", "f32")
    cases = [case for _, case in suite.op(op).named_cases(dtypes)]
    assert max(layout.numel for case in cases for layout in case.layouts.values()) > 65536
    assert max(map(updating_extent, cases)) > 256


def updating_extent(case):
    """Return the extent of the input's dim whose elements update the same places."""
    params = dict(case.params)
    if "dim" in params:
        return case.layouts["inp"].shape[params["dim"]]
    return case.layouts["x"].shape[params["over"].bit_length() - 1] if params["over"] else 1
