"""Inputs of unusual size."""

from __future__ import annotations

import pytest

RUN = ("run", "--target", "gfx1100", "--examples", "1")
EXPRESSION = "x[i] > 0.0f ? x[i] : alpha * x[i]"


@pytest.mark.parametrize(
    ("depth", "statement", "code", "text"),
    [
        (2000, True, 0, " 0 failed"),
        (5000, True, 1, "leaky_relu.cu:7:2066: fatal error: bracket nesting level"),
        (5000, False, 0, " 0 failed"),
    ],
)
def test_nested_parentheses_are_a_compile_error_or_left_out(parity, mine, edit, depth, statement, code, text):
    """Host code that clang cannot parse is left out."""
    kernel, opening, closing = mine / "kernels" / "leaky_relu.cu", "(" * depth, ")" * depth
    if statement:
        edit(kernel, EXPRESSION, f"{opening}{EXPRESSION}{closing}")
    else:
        edit(kernel, "extern", f"int x = {opening}1{closing};\nextern")
    result = parity(*RUN)
    assert result.code == code and text in result.out and "Traceback" not in result.err, result.err[-3000:]


def test_name_of_source_that_compilers_cannot_lengthen_is_refused(parity, mine):
    name = "k" * 250
    (mine / "kernels" / "leaky_relu.cu").rename(mine / "kernels" / f"{name}.cu")
    (mine / "cases" / "leaky_relu.py").write_text(
        (mine / "cases" / "leaky_relu.py").read_text().replace("leaky_relu.leaky_relu", f"{name}.leaky_relu")
    )
    for command in (RUN, ("build",)):
        result = parity(*command)
        assert result.code == 2 and f"rename {mine / 'kernels' / name}.cu: " in result.err
