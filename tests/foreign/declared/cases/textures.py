"""textures.cu: samples of a texture, linear memory in a structure, and surfaces."""

import numpy as np

from parity.op import Op
from parity.reference import Bounds, Expected, within


def halved(image, to, shape):
    """The mean of 2 by 2 pixels, which are numbers from 0 to 1. A filter may round it to 16 bits."""
    rows, columns, channels = shape
    mean = image.astype(float).reshape(rows, 2, columns, 2, channels).mean((1, 3)) / 255
    step = np.full(shape, 1 / 65535)
    return Expected(to.convert(mean), lambda limits: Bounds(mean, 0.0, step, step))


halve = Op(
    "textures.halve",
    kernel="halve",
    types=("u8",),
    args="image_object out width:i32 height:i32",
    shapes="image: 2*height 2*width 4; out: height width 4",
    inputs={"image": "u8"},
    outputs={"out": "f32"},
    textures={"image_object": "image 2d linear normalized_float"},
    grid="ceil(width/16), ceil(height/16)",
    block="16, 16",
    grid_stride=False,
    reference=halved,
)

look_up = Op(
    "textures.look_up",
    kernel="look_up",
    types=("f32",),
    args="lookup ids out n:i32",
    shapes="table: size; ids: n; out: n",
    structs={"lookup": "cells scale"},
    inputs={"table": "f32", "ids": "i32"},
    params={"scale": "f32"},
    textures={"cells": "table memory"},
    indices={"ids": "size"},
    data={"ids": ("index", "ramp", "repeat")},
    grid="ceil(n/128)",
    block=128,
    grid_stride=False,
    reference=lambda table, ids, scale, to: within(0.5, scale.astype(float) * table[ids].astype(float), to),
)

mirror = Op(
    "textures.mirror",
    kernel="mirror",
    types=("u8",),
    args="source target width:i32 height:i32",
    shapes="image: height width 4; out: height width 4",
    inputs={"image": "u8"},
    outputs={"out": "u8"},
    textures={"source": "image 2d surface", "target": "out 2d surface"},
    grid="ceil(width/16), ceil(height/16)",
    block="16, 16",
    grid_stride=False,
    reference=lambda image: Expected(np.roll(image[:, ::-1], 1, 0)),
)
