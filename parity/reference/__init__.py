"""Computes expected values, in at least twice the precision of the dtype under test, with error bounds.

Inputs contain NaN and infinities on purpose, so the public functions ignore NumPy's warnings.
"""

import inspect

import numpy as np

from parity.reference.accuracy import accuracy
from parity.reference.attention import attention
from parity.reference.binary import (  # fmt: skip
    add,
    affine,
    div,
    eq,
    fill,
    ge,
    gt,
    le,
    lt,
    maximum,
    minimum,
    mul,
    ne,
    sub,
    where,
)
from parity.reference.cast import cast
from parity.reference.conv import (
    avg_pool2d,
    col2im1d,
    conv1d,
    conv2d,
    conv_transpose1d,
    conv_transpose2d,
    im2col,
    im2col1d,
    max_pool2d,
)
from parity.reference.expected import Bounds, Expected, Limits
from parity.reference.generators import mrg32k3a_uniform, philox, philox_uniform, sobol32, xorwow
from parity.reference.indexing import gather, index_add, index_select, scatter, scatter_add
from parity.reference.matmul import scaled_matmul
from parity.reference.normalize import layer_norm, rms_norm, softmax
from parity.reference.products import batched_matmul, matmul
from parity.reference.quantized import dequantize, get_rows, matmul_q8_1, matvec, matvec_q8_1, moe_q8_1, quantize_q8_1
from parity.reference.reduce import argmax, argmin, prefix_sum, reduce_max, reduce_min, reduce_sum, sum_onto
from parity.reference.resample import upsample_bilinear2d, upsample_nearest2d
from parity.reference.rope import rope, rope_interleaved, rope_thd
from parity.reference.sort import argsort_ascending, argsort_descending
from parity.reference.unary import (  # fmt: skip
    abs,
    ceil,
    copy,
    cos,
    elu,
    erf,
    exp,
    floor,
    gelu,
    gelu_erf,
    log,
    neg,
    normcdf,
    powf,
    recip,
    relu,
    round,
    sigmoid,
    sign,
    silu,
    sin,
    sqr,
    sqrt,
    tanh,
)
from parity.reference.within import within

__all__ = [
    "Bounds", "Expected", "Limits", "abs", "accuracy", "add", "affine", "argmax", "argmin", "argsort_ascending",
    "argsort_descending", "attention", "avg_pool2d", "batched_matmul", "cast", "ceil", "col2im1d", "conv1d", "conv2d",
    "conv_transpose1d", "conv_transpose2d", "copy", "cos", "dequantize", "div", "elu", "eq", "erf", "exp", "fill",
    "floor", "gather", "ge", "gelu", "gelu_erf", "get_rows", "gt", "im2col", "im2col1d", "index_add", "index_select",
    "layer_norm", "le", "log", "lt", "matmul", "matmul_q8_1", "matvec", "matvec_q8_1", "max_pool2d", "maximum",
    "minimum", "moe_q8_1", "mrg32k3a_uniform", "mul", "ne", "neg", "normcdf", "philox", "philox_uniform", "powf",
    "prefix_sum", "quantize_q8_1", "recip", "reduce_max", "reduce_min", "reduce_sum", "relu", "rms_norm", "rope",
    "rope_interleaved", "rope_thd", "round", "scaled_matmul", "scatter", "scatter_add", "sigmoid", "sign", "silu",
    "sin", "sobol32", "softmax", "sqr", "sqrt", "sub", "sum_onto", "tanh", "upsample_bilinear2d", "upsample_nearest2d",
    "where", "within", "xorwow",
]  # fmt: skip

globals().update(
    {name: np.errstate(all="ignore")(each) for name, each in [*globals().items()] if inspect.isfunction(each)}
)
