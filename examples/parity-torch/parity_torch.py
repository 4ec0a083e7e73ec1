"""PyTorch as a runner of parity: its own operators, judged by the references of our kernels.

``--runner torch`` computes on the CPU, ``--runner torch=cuda:0`` on a GPU, of CUDA or ROCm builds of PyTorch alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from parity.runners import Computation, Evidence, Probe, Unsupported

try:
    import torch
    from torch.nn import functional
except ImportError as error:  # said by probe, so that parity doctor can show it
    torch, MISSING = None, str(error)

TYPES = {
    "u8": "uint8", "u32": "uint32", "i16": "int16", "i32": "int32", "i64": "int64",
    "f8_e4m3": "float8_e4m3fn", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
}  # fmt: skip
STORAGE_ONLY = ("u32", "f8_e4m3")
"""What PyTorch stores and converts, but hardly computes with."""


def transposed(name: str) -> Callable[..., Any]:
    """Return a transposed convolution."""

    def compute(src: Any, weight: Any, stride: int, padding: int, out_padding: int, dilation: int) -> Any:
        if out_padding >= max(stride, dilation):
            raise Unsupported(f"PyTorch has no output padding of {out_padding} with {stride=} and {dilation=}")
        return getattr(functional, name)(src, weight, None, stride, padding, out_padding, 1, dilation)

    return compute


def pooled(name: str) -> Callable[..., Any]:
    """Return a pooling of axes 2 and 3."""
    return lambda src, w_k, h_k, w_stride, h_stride: getattr(functional, name)(src, (w_k, h_k), (w_stride, h_stride))


# Called with the tensors, then the parameters. Ops that are not listed are unsupported.
OPS: dict[str, Callable[..., Any]] = {
    "affine.affine": lambda x, mul, add: x * mul + add,
    "binary.add": lambda x, y: x + y,
    "binary.sub": lambda x, y: x - y,
    "binary.mul": lambda x, y: x * y,
    "binary.div": lambda x, y: x / y if x.is_floating_point() else torch.div(x, y, rounding_mode="trunc"),
    "binary.maximum": lambda x, y: torch.maximum(x, y),
    "binary.minimum": lambda x, y: torch.minimum(x, y),
    "binary.eq": lambda x, y: x == y,
    "binary.ne": lambda x, y: x != y,
    "binary.lt": lambda x, y: x < y,
    "binary.le": lambda x, y: x <= y,
    "binary.gt": lambda x, y: x > y,
    "binary.ge": lambda x, y: x >= y,
    "cast.convert": lambda x: x,
    "conv.conv1d": lambda src, weight, *steps: functional.conv1d(src, weight, None, *steps),
    "conv.conv2d": lambda src, weight, *steps: functional.conv2d(src, weight, None, *steps),
    "conv.conv_transpose1d": transposed("conv_transpose1d"),
    "conv.conv_transpose2d": transposed("conv_transpose2d"),
    "conv.avg_pool2d": pooled("avg_pool2d"),
    "conv.max_pool2d": pooled("max_pool2d"),
    "gemm.matmul": lambda a, b: a @ b,
    "gemm.batched": lambda a, b: a @ b,
    "gemm.strided_batched": lambda a, b: a @ b,
    "reduce.softmax": lambda x: functional.softmax(x, dim=-1),
    "sort.argsort_asc": lambda x: x.argsort(dim=-1),
    "sort.argsort_desc": lambda x: x.argsort(dim=-1, descending=True),
    "ternary.where": lambda condition, x, y: torch.where(condition != 0, x, y),
    "unary.copy": lambda x: x.clone(),
    "unary.neg": lambda x: -x,
    "unary.abs": lambda x: x.abs(),
    "unary.sign": lambda x: x.sign(),
    "unary.relu": lambda x: x.relu(),
    "unary.ceil": lambda x: x.ceil(),
    "unary.floor": lambda x: x.floor(),
    "unary.round": lambda x: x.round(),
    "unary.recip": lambda x: x.reciprocal(),
    "unary.sqr": lambda x: x.square(),
    "unary.sqrt": lambda x: x.sqrt(),
    "unary.exp": lambda x: x.exp(),
    "unary.log": lambda x: x.log(),
    "unary.sin": lambda x: x.sin(),
    "unary.cos": lambda x: x.cos(),
    "unary.tanh": lambda x: x.tanh(),
    "unary.erf": lambda x: x.erf(),
    "unary.normcdf": lambda x: torch.special.ndtr(x),
    "unary.powf": lambda x, exponent: x**exponent,
    "unary.elu": lambda x, alpha: functional.elu(x, alpha),
    "unary.silu": lambda x: functional.silu(x),
    "unary.sigmoid": lambda x: x.sigmoid(),
    "unary.gelu": lambda x: functional.gelu(x, approximate="tanh"),
    "unary.gelu_erf": lambda x: functional.gelu(x),
}
MOVES = ("cast.convert", "ternary.where", "unary.copy")
"""Ops that only move or convert, which the storage-only types have too."""


class Torch:
    """PyTorch on one device."""

    name, evidence = "torch", Evidence.LIBRARY

    def __init__(self, device: str = "cpu") -> None:
        self.device = device
        if torch is not None:  # otherwise convolutions of f32 use TF32, and products of half types round their sums
            torch.backends.cudnn.allow_tf32 = False
            torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
            torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False

    @property
    def vendor(self) -> str:
        """The vendor whose accuracy limits apply: the vendor of the GPUs that this build of PyTorch supports."""
        if self.device == "cpu" or torch is None:
            return "host"
        return "amd" if torch.version.hip else "cuda"

    def probe(self) -> Probe:
        if torch is None:
            return Probe(False, f"PyTorch is not there: {MISSING}", "python -m pip install torch")
        try:
            torch.zeros(1, device=self.device)
        except (RuntimeError, AssertionError) as error:
            reason = str(error).partition("\n")[0]
            return Probe(False, f"no device {self.device!r} in this build of PyTorch: {reason}", "use --runner torch")
        return Probe(True)

    def targets(self) -> tuple[str, ...]:
        return (self.device,)

    def describe(self) -> dict[str, str]:
        gpu = {} if self.device == "cpu" else {"gpu": torch.cuda.get_device_name(self.device)}
        return {**gpu, "torch": torch.__version__}

    def compute(self, target: str, asked: Computation) -> np.ndarray[Any, Any]:
        function = OPS.get(asked.op)
        lacking = set(asked.dtypes) & set(STORAGE_ONLY)
        if function is None or (lacking and asked.op not in MOVES):
            raise Unsupported(f"PyTorch has no {asked.op}" + f" of {' and '.join(sorted(lacking))}" * bool(lacking))
        inputs = [self._tensor(array) for array in asked.inputs.values()]
        try:
            result = function(*inputs, *(param.item() for param in asked.params.values()))
        except NotImplementedError as error:
            raise Unsupported(str(error).partition("\n")[0]) from error
        wanted = getattr(torch, TYPES[asked.dtype.name])
        return _array(result.to(wanted).cpu().contiguous(), asked.dtype.numpy)

    def _tensor(self, array: np.ndarray[Any, Any]) -> Any:
        """The array on the device, with its strides; NumPy and PyTorch agree on bits where they share no type."""
        bits = torch.from_numpy(array.view(f"i{array.itemsize}" if array.itemsize > 1 else "u1"))
        return bits.view(getattr(torch, TYPES[_name(array.dtype)])).to(self.device)


def _array(tensor: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    bits = getattr(torch, {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}[dtype.itemsize])
    return tensor.view(bits).numpy().view(dtype)


def _name(dtype: np.dtype[Any]) -> str:
    """The name that parity has for a NumPy type."""
    own = {"bfloat16": "bf16", "float8_e4m3fn": "f8_e4m3"}
    return own.get(dtype.name, f"{dtype.kind}{8 * dtype.itemsize}")
