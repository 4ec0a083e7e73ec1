"""adam.cu: a step of an optimizer."""

import numpy as np

from parity.op import Op
from parity.reference import Bounds, Expected

RATES = {"lr": (0.1, 1e-3), "beta1": (0.9, 0.0), "beta2": (0.999, 0.5), "eps": (1e-8, 1e-3), "t": (1, 2, 100)}


def close(value, error):
    """Within an absolute error."""
    return Expected(value.astype(np.float32), lambda _: Bounds(value.astype(np.float64), 0.0, error, error))


def step(g, p, m, v, lr, beta1, beta2, eps, t, decay):
    """Every operation in float32, as the kernel has them; some may be fused, so a few ULP are right."""
    one = np.float32(1)
    first = beta1 * m + (one - beta1) * g
    second = beta2 * v + (one - beta2) * g * g
    scale = one if t == 1 else np.float32(0.5)
    left = (p * (one - np.float32(decay))).astype(np.float64)
    moved = left - (scale * lr * first).astype(np.float64) / (np.sqrt(second).astype(np.float64) + eps)
    near = np.abs(left) + np.abs(moved) + 1e-3
    return {
        "p": close(moved, 1e-5 * near),
        "m": close(first, 1e-6 * (np.abs(m) + np.abs(g))),
        "v": close(second, 1e-6 * (np.abs(v) + g.astype(np.float64) ** 2)),
    }


adam = Op(
    "adam.step",
    kernel="adam",
    types=("f32",),
    args="p m v g step n:i32=numel",
    inputs={"g": "f32"},
    updates={"p": "f32", "m": "f32", "v": "f32"},
    params={"lr": "f32", "beta1": "f32", "beta2": "f32", "eps": "f32", "t": "i32", "decay": "f64"},
    structs={"step": "lr beta1 beta2 eps t decay"},
    choices={**RATES, "decay": (0.0, 0.01)},
    block=256,
    grid_stride=False,
    data={"g": ("normal", "unit"), "p": ("normal",), "m": ("unit",), "v": ("probability", "0.5..4")},
    reference=step,
)
