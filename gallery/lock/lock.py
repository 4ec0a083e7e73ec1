"""lock.cu: one thread for each number."""

from parity.op import Op

add_to_buckets = Op(
    "lock.add_to_buckets",
    kernel="add_to_buckets",
    types=("i32",),
    args="x bucket sums locks n:i32",
    inputs={"x": "T", "bucket": "u32"},
    updates={"sums": "T", "locks": "T"},
    shapes="x: n; bucket: n; sums: buckets; locks: buckets",
    where="n > 0 and buckets > 0",
    choices={"n": (1, 2, 40, 100, 200), "buckets": (1, 3, 8)},
    indices={"bucket": "buckets"},
    data={"bucket": ("index", "repeat"), "locks": ("0..0",)},
    grid="ceil(n/128)",
    block=128,
    grid_stride=False,
)
