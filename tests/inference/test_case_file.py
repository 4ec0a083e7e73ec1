"""The text of generated case files."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import PurePath

import pytest

from parity.inference.case_file import case_file, literal
from parity.inference.keywords import Keyword
from parity.inference.skeleton import Skeleton
from parity.triton_kernels.kernel import TritonKernel

OP = Skeleton(
    "module.scale",
    "scale(float*, int)",
    (
        Keyword("kernel", "scale"),
        Keyword("types", ("f32",)),
        Keyword("shapes", "; ".join(f"tensor_{i}: rows cols" for i in range(8)), "a guess", wraps=True),
        Keyword("structs", {"x": " ".join(f"x_size_{i}:i64=16" for i in range(9)), "y": "y_data y_size"}),
        Keyword("choices", {f"extent_{i}": (1, 2, 3, 7, 33, 300) for i in range(5)}),
    ),
    ("x", "alpha"),
    launched="main.cu:3, as scale<<<1, 32>>>(x, n)",
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("n", '"n"'),
        (64, "64"),
        (False, "False"),
        (("f32",), '("f32",)'),
        ((1, "2*n"), '(1, "2*n")'),
        ({"n": (1, 7)}, '{"n": (1, 7)}'),
    ],
)
def test_literal_is_python_source_with_double_quotes(value, text):
    assert literal(value) == text and ast.literal_eval(text) == value


def test_case_file_wraps_long_texts_and_mappings():
    text = case_file(PurePath("src/module.cu"), [OP], {})
    (call,) = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    values = {each.arg: ast.literal_eval(each.value) for each in call.keywords}
    assert values == {each.name: each.value for each in OP.keywords}
    assert max(map(len, text.splitlines())) <= 120
    assert "    shapes=(  # a guess\n" in text and "a function of x, alpha; none: CUDA's side judges" in text


def test_case_file_wraps_values_of_triton_kernels_between_keywords():
    given = {f"BLOCK_{i}": f"bit_ceil(n) + {i}" for i in range(9)}
    kernel = Keyword(
        "kernel", TritonKernel("ops.py", "scale", given), "one of 40 configurations; autotune=True tests all"
    )
    text = case_file(PurePath("ops.py"), [replace(OP, keywords=(kernel,))], {})
    (call,) = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and node.func.id == "triton")
    assert {each.arg: ast.literal_eval(each.value) for each in call.keywords} == given
    assert max(map(len, text.splitlines())) <= 120 and "    kernel=triton(  # one of 40" in text


def test_case_file_wraps_comments_with_many_parameters():
    kernel = f"scale({', '.join(f'parameter_{i}' for i in range(20))})"
    texts = [
        case_file(PurePath("module.cu"), [replace(OP, kernel=kernel)], {}),
        case_file(PurePath("module.cu"), [replace(OP, kernel=kernel)], {"module.scale": "no launch shows its grid."}),
        case_file(PurePath("module.cu"), [Skeleton("", kernel, omitted="it has no output")], {}),
    ]
    for text in texts:
        assert max(map(len, text.splitlines())) <= 120 and "parameter_19)" in text and ast.parse(text)


def test_case_file_with_question_comments_out_op():
    text = case_file(PurePath("module.cu"), [OP], {"module.scale": "no launch shows its grid."})
    assert not [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    assert "# To be completed: no launch shows its grid. Complete shapes=, grid= and block=" in text
    assert "# The host launches it in main.cu:3, as scale<<<1, 32>>>(x, n)\n" in text


def test_case_file_with_omitted_kernel_states_reason():
    text = case_file(PurePath("module.cu"), [Skeleton("", "noop()", omitted="it has no output")], {})
    assert text.endswith("from parity.op import Op\n\n# noop(): it has no output\n")
