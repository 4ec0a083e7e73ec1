"""Host code runs without PyTorch and without a GPU, and shows how it launches a kernel."""

from __future__ import annotations

import importlib.util
import itertools
from types import SimpleNamespace

import pytest

from parity.triton_kernels import host_runs
from parity.triton_kernels.host_runs import launches
from parity.triton_kernels.host_torch import importer
from parity.triton_kernels.loading import Loader

pytestmark = pytest.mark.skipif(not importlib.util.find_spec("triton"), reason="the package triton is not installed")

KERNEL = """import torch
import triton
import triton.language as tl
from missing_package import thing

{decorators}
@triton.jit
def kernel(x, out, index, n, scale, stride, BLOCK: tl.constexpr, FLAG: tl.constexpr = False):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i))

"""


def first(folder, host, decorators="", **more):
    """Return the first launch of the kernel by the host code."""
    return next(iter(made(folder, host, decorators, **more)), None)


def made(folder, host, decorators="", **more):
    """Return the first three launches of the kernel by the host code."""
    path = folder / "ops.py"
    path.write_text(KERNEL.format(decorators=decorators) + host)
    kernel = {"file": str(path), "function": "kernel", "pointers": ["x", "out", "index"], "indices": ["index"]}
    kernel |= {"numbers": ["n"], "texts": {}, **more}
    found = launches(kernel, [path], ["float32"], Loader([folder], importer("cuda")))
    return [*itertools.islice(found, 3)]


def values(launch):
    """Return what a launch passes for numbers."""
    return {each["name"]: each["value"] for each in launch["arguments"] if "value" in each}


def tensors(launch):
    """Return the types and elements of tensors."""
    return {each["name"]: (each["type"], each["elements"]) for each in launch["arguments"] if "elements" in each}


def test_rank_dims_and_kinds_follow_from_host_code(tmp_path):
    host = """
def run(x, index, scale=0.25, bias=None):
    b, h, d = x.shape
    assert index.shape == (b,)
    assert d % 128 == 0, "whole rows"
    out = torch.empty((b, h), dtype=torch.bfloat16, device=x.device)
    kernel[(b, triton.cdiv(h, 16))](x, out, index, x.numel(), scale, x.stride(1), BLOCK=triton.next_power_of_2(d))
    return out
"""
    launch = first(tmp_path, host)
    found = tensors(launch)
    assert found["out"][0] == "*bf16" and found["index"][0] == "*i32"
    rows, block = found["index"][1], launch["constants"]["BLOCK"]
    assert block % 128 == 0 and values(launch)["stride"] == str(block) and values(launch)["scale"] == "0.25"
    assert found["x"][1] == int(values(launch)["n"]) and launch["grid"][0] == rows
    assert launch["constants"]["FLAG"] is False  # the default


def test_conditions_of_assertions_and_errors_correct_guesses(tmp_path):
    host = """
def run(x, other, index, width):
    assert x.dtype == torch.bfloat16
    assert width in {
        48,
        96,
    }, "only these sizes"
    if index.dtype not in (torch.int64, torch.uint64):
        raise TypeError("positions of 64 bits")
    order, places = index.sort(-1)
    kernel[(1,)](x, other, order, order.topk(2).indices.numel(), 0.5, 1, BLOCK=width)
"""
    launch = first(tmp_path, host)
    found = tensors(launch)
    assert found["x"][0] == found["out"][0] == "*bf16" and found["index"][0] == "*i64"
    assert launch["constants"]["BLOCK"] == 48 and values(launch)["n"] == "2"


def test_comments_state_ranks_and_tables_may_hold_tensors(tmp_path):
    host = """
def run(
    x,  # [rows, heads * 2, dim]
    index,
    params=None,
):
    \'\'\'Launch.

    Args:
        index (torch.Tensor): Positions, of shape (rows, 2)
    \'\'\'
    weight = params.entries["first"]
    rows, cols = weight.shape
    kernel[(rows,)](x, weight, index, x.stride(0), 0.5, index.stride(0), BLOCK=cols)
"""
    launch = first(tmp_path, host)
    assert values(launch)["n"] == "256" and values(launch)["stride"] == "16"
    assert tensors(launch) == {"x": ("*fp32", 4096), "out": ("*fp32", 256), "index": ("*i32", 256)}


def test_argument_that_host_code_compares_with_none_is_optional(tmp_path):
    host = """
def run(x, index, offsets):
    count = 3 if offsets is None else len(offsets)
    kernel[(1,)](x, x, index if offsets is None else offsets, count, 0.5, 1, BLOCK=16)
"""
    assert values(first(tmp_path, host))["n"] == "3"


def test_configurations_heuristics_and_grid_of_keywords_are_evaluated(tmp_path):
    decorators = (
        '@triton.autotune(configs=[triton.Config({"BLOCK": n}, num_warps=2) for n in (256, 64)], key=["n"])\n'
        '@triton.heuristics({"FLAG": lambda args: args["n"] % args["BLOCK"] == 0})'
    )
    host = """
class Operation(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor, index: torch.Tensor):
        ctx.save_for_backward(x, index)
        return torch.empty_like(x)

    @staticmethod
    def backward(ctx, grad):
        x, index = ctx.saved_tensors
        n = x.numel()
        kernel[lambda meta: (n // meta["BLOCK"],)](x, torch.empty_like(grad), index, n, 1.5, 1)
"""
    launch = first(tmp_path, host, decorators)
    assert launch["constants"] == {"BLOCK": 64, "FLAG": True} and launch["options"]["num_warps"] == 2
    assert launch["grid"] == (int(values(launch)["n"]) // 64,)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if mode == 'fast':\n        kernel[(1,)](x, x, index, 1, 1.0, 1, BLOCK=16)", 16),
        ("BLOCKS = {'low': 32}\n    kernel[(1,)](x, x, index, 1, 1.0, 1, BLOCK=BLOCKS[mode])", 32),
        ("assert len(x.shape) == 4\n    kernel[(1,)](x, x, index, x.dim(), 1.0, 1, BLOCK=64)", 64),
        ("assert x.shape[1] == index.shape[0] * 4\n    kernel[(1,)](x, x, index, 1, 1.0, 1, BLOCK=8)", 8),
        ("kernel[(1,)](x, x, index, 1, 1.0, 1, BLOCK=mode['BLOCK_SIZE'] // mode['num_warps'])", 8),
        ("out = torch.empty_like(bias)\n    kernel[(1,)](x, out, index, 1, 1.0, 1, BLOCK=128)", 128),
        ("with thing.device(x.device):\n        kernel[(1,)](x, x, index, 1, 1.0, 1, BLOCK=4)", 4),
        ("kernel[(1,)](x, other.qweight, index, 1, 1.0, 1, BLOCK=32 // other.bits)", 8),
        (
            "q = x.squeeze() if x.dim() == 4 else x\n    assert q.dim() == 3\n    a, b, c = q.shape\n    "
            "assert c in {32, 64}\n    kernel[(1,)](x, x, index, 1, 1.0, 1, BLOCK=c)",
            32,
        ),
    ],
    ids=["branch", "table", "rank", "product", "constants", "optional", "context", "object", "set"],
)
def test_guess_is_corrected_by(body, expected, tmp_path):
    none = "" if "other." in body else "assert none is None\n    "
    launch = first(tmp_path, f"def run(x, index, mode, other, bias=None, none=None):\n    {none}{body}\n")
    assert launch["constants"]["BLOCK"] == expected


def test_all_last_dims_are_corrected_together(tmp_path):
    host = """
def run(q_weight, k_weight, v_weight, index):
    q, k, v = q_weight.shape[-1], k_weight.shape[-1], v_weight.shape[-1]
    assert q == k == v
    assert k in {32, 64}
    kernel[(index.shape[0],)](q_weight, k_weight, index, 1, 1.0, 1, BLOCK=k)
"""
    launch = first(tmp_path, host)
    assert launch["constants"]["BLOCK"] == 32 and launch["grid"] == (16,) and tensors(launch)["x"][1] == 16 * 32


def test_kernel_shows_which_arguments_are_tensors_and_which_are_numbers(tmp_path):
    host = (
        "def run(x, index, num_rows, out_scale):\n    kernel[(1,)](x, out_scale, index, num_rows, 1.0, 1, BLOCK=16)\n"
    )
    launch = first(tmp_path, host)
    assert int(values(launch)["n"]) > 0 and tensors(launch)["out"][0] == "*fp32"


def test_number_that_the_kernel_compares_with_a_text_is_that_text(tmp_path):
    host = "def run(x, index, mode):\n    kernel[(1,)](x, x, index, 1, 1.0, 1, BLOCK=16, FLAG=mode)\n"
    assert first(tmp_path, host, texts={"FLAG": "mean"})["constants"]["FLAG"] == "mean"


def test_real_constant_is_a_plain_number(tmp_path):
    """Triton asks whether a constant has a shape. The guess of a number would become a tensor."""
    host = "def run(x, index, eps):\n    kernel[(1,)](x, x, index, 1, 1.0, 1, BLOCK=16, FLAG=eps)\n"
    assert type(first(tmp_path, host)["constants"]["FLAG"]) is float


def test_argument_that_may_be_none_is_none_first(tmp_path):
    host = (
        "def run(x, index, starts: torch.Tensor | None, bias: torch.Tensor | None):\n"
        "    kernel[(bias.shape[0],)](x, x, index, 1, 1.0, 1, BLOCK=16, FLAG=starts is not None)\n"
    )
    assert first(tmp_path, host)["constants"]["FLAG"] is False


def test_lengths_are_whole_numbers(tmp_path):
    host = "def run(x, interval_lengths):\n    kernel[(1,)](x, x, interval_lengths, 1, 1.0, 1, BLOCK=16)\n"
    assert tensors(first(tmp_path, host, indices=[]))["index"][0] == "*i32"


def test_function_that_host_code_returns_is_called(tmp_path):
    grid = "(x.device.index + 3,)"
    body = f"    def later():\n        kernel[{grid}](x, x, index, 1, 1.0, 1, BLOCK=16)\n    return later\n"
    assert first(tmp_path, f"def run(x, index):\n{body}")["grid"] == (3,)
    method = f"class Operator:\n    def run(self, x, index):\n{body}".replace("\n    ", "\n        ")
    assert first(tmp_path, method.replace("        def run", "    def run"))["grid"] == (3,)


def test_options_keep_their_type(tmp_path):
    host = "def run(x, index):\n    kernel[(1,)](x, x, index, 1, 1.0, 1, BLOCK=16, enable_fp_fusion=False)\n"
    assert first(tmp_path, host)["options"]["enable_fp_fusion"] is False


def test_fp8_of_amd_is_that_of_nvidia(tmp_path):
    host = "def run(x, index):\n    kernel[(1,)](x, x.to(torch.float8_e4m3fnuz), index, 1, 1.0, 1, BLOCK=16)\n"
    assert tensors(first(tmp_path, host))["out"][0] == "*fp8e4nv"


def test_driver_of_the_target_is_the_only_active_one():
    from triton.backends import backends

    host_runs.set_driver(SimpleNamespace(backend="hip"))
    assert [name for name, each in backends.items() if each.driver.is_active()] == ["amd"]


def test_host_code_that_raises_or_never_ends_gives_no_launch(tmp_path, monkeypatch):
    monkeypatch.setattr(host_runs, "_SECONDS", 1)
    assert first(tmp_path, "def run(x, index):\n    raise RuntimeError\n    kernel[(1,)](x)\n") is None
    assert first(tmp_path, "def run(x, index):\n    while True:\n        pass\n    kernel[(1,)](x)\n") is None


def test_positions_and_masks_have_their_numbers(tmp_path):
    host = "def run(x, index, mask):\n    kernel[(1,)](x, mask, index, 1, 1.0, 1, BLOCK=16)\n"
    launch = first(tmp_path, host)
    index = next(each for each in launch["arguments"] if each["name"] == "index")
    assert (index["least"], index["most"], index["rises"]) == (0, index["elements"] - 1, True)
    assert index["ramps"] and index["values"] == [*range(index["elements"])]
    assert tensors(launch)["out"][0] == "*u8"


def test_kernel_of_same_name_in_another_file_is_not_launched(tmp_path):
    (tmp_path / "other.py").write_text(KERNEL.format(decorators=""))
    host = (
        "from other import kernel as theirs\n\ndef run(x, index):\n    theirs[(1,)](x, x, index, 1, 1.0, 1, BLOCK=16)\n"
    )
    assert first(tmp_path, f"{host}    kernel[(1,)](x, x, index, 1, 1.0, 1, BLOCK=32)\n")["constants"]["BLOCK"] == 32


def test_second_launch_has_larger_tensors(tmp_path):
    """A kernel without masks may be wrong for tensors that are smaller than a block."""
    host = "def run(x, index):\n    kernel[(1,)](x, x, index, x.numel(), 0.0, 1, BLOCK=16)\n"
    small, *larger = made(tmp_path, host)
    assert all(each["larger"] for each in larger) and tensors(small)["x"][1] < 64 * 64
    assert [tensors(each)["x"][1] for each in larger] == [64 * 64, 128 * 128]
    assert values(small)["scale"] == "0.5"  # not zero


def test_outer_dims_are_small_unless_host_code_needs_others(tmp_path):
    host = "def run(x, index):\n    a, b, c, d = x.shape\n    {}kernel[(a,)](x, x, index, 1, 1.0, 1, BLOCK=16)\n"
    assert first(tmp_path, host.format(""))["grid"] == (2,)
    assert first(tmp_path, host.format("if a >= 16:\n        "))["grid"] == (16,)


def test_lists_of_positions_are_short_where_other_extents_are_large(tmp_path):
    launch = "kernel[(len(index),)](x, x, index, 1, 1.0, 1, BLOCK=16)"
    host = f"def run(x, index):\n    if x.numel() >= 128 * 128:\n        {launch}\n"
    assert first(tmp_path, host)["grid"] == (16,)


def test_tensor_of_offsets_has_the_end_of_the_last_sequence(tmp_path):
    host = "def run(x, offsets):\n    kernel[(x.shape[0],)](x, x, offsets, 1, 1.0, 1, BLOCK=16)\n"
    launch = first(tmp_path, host)
    index = next(each for each in launch["arguments"] if each["name"] == "index")
    assert index["elements"] == launch["grid"][0] + 1 and index["rises"] and index["distinct"]


def test_numbers_of_fp8_end_at_its_largest(tmp_path):
    host = (
        "def run(x, index):\n    kind = torch.finfo(torch.float8_e4m3fn)\n"
        "    kernel[(1,)](x, x, index, int(kind.min), kind.max, 1, BLOCK=16)\n"
    )
    assert (values(first(tmp_path, host))["n"], values(first(tmp_path, host))["scale"]) == ("-448", "448.0")


def test_precision_that_few_gpus_have_is_replaced(tmp_path):
    host = "def run(x, index, precision='tf32'):\n    kernel[(1,)](x, x, index, 1, 1.0, 1, BLOCK=16, FLAG=precision)\n"
    assert first(tmp_path, host)["constants"]["FLAG"] == "ieee"
