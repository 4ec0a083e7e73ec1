"""The kernels of Triton's tutorials, written anew for parity's tests and documentation."""

import triton
import triton.language as tl


@triton.jit
def add(out, x, y, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < n
    tl.store(out + places, tl.load(x + places, mask=inside) + tl.load(y + places, mask=inside), mask=inside)


@triton.jit
def softmax(out, x, rows, columns, BLOCK: tl.constexpr):
    places = tl.arange(0, BLOCK)
    inside = places < columns
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        values = tl.load(x + row * columns + places, mask=inside, other=-float("inf")).to(tl.float32)
        powers = tl.exp(values - tl.max(values, axis=0))
        tl.store(out + row * columns + places, powers / tl.sum(powers, axis=0), mask=inside)


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def matmul(
    out,
    a,
    b,
    M,
    N,
    K,
    ACTIVATION: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP: tl.constexpr,
):
    blocks_m, blocks_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    number, in_group = tl.program_id(0), GROUP * blocks_n
    first = number // in_group * GROUP
    size = min(blocks_m - first, GROUP)
    m = (first + number % in_group % size) * BM + tl.arange(0, BM)
    n = (number % in_group // size) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        left = tl.load(
            a + (m[:, None] * K + start + k[None, :]), mask=(m[:, None] < M) & (start + k[None, :] < K), other=0.0
        )
        right = tl.load(
            b + ((start + k[:, None]) * N + n[None, :]), mask=(start + k[:, None] < K) & (n[None, :] < N), other=0.0
        )
        total = tl.dot(left, right, total, input_precision="ieee")
    if ACTIVATION == "leaky_relu":
        total = leaky_relu(total)
    tl.store(out + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def dropout(out, x, n, p, seed, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < n
    values = tl.load(x + places, mask=inside)
    keep = tl.rand(seed, places) > p
    tl.store(out + places, tl.where(keep, values / (1 - p), 0.0), mask=inside)


@triton.jit
def layer_norm(out, mean, rstd, x, weight, bias, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    places = tl.arange(0, BLOCK)
    inside = places < columns
    values = tl.load(x + row * columns + places, mask=inside, other=0.0).to(tl.float32)
    average = tl.sum(values, axis=0) / columns
    centered = tl.where(inside, values - average, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centered * centered, axis=0) / columns + eps)
    tl.store(mean + row, average)
    tl.store(rstd + row, scale)
    w = tl.load(weight + places, mask=inside).to(tl.float32)
    b = tl.load(bias + places, mask=inside).to(tl.float32)
    tl.store(out + row * columns + places, centered * scale * w + b, mask=inside)


@triton.jit
def layer_norm_backward(dx, dw, db, dout, x, weight, mean, rstd, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    places = tl.arange(0, BLOCK)
    inside = places < columns
    values = tl.load(x + row * columns + places, mask=inside, other=0.0).to(tl.float32)
    slope = tl.load(dout + row * columns + places, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(weight + places, mask=inside, other=0.0).to(tl.float32)
    scale = tl.load(rstd + row)
    normal = tl.where(inside, (values - tl.load(mean + row)) * scale, 0.0)
    weighted = w * slope
    c1 = tl.sum(normal * weighted, axis=0) / columns
    c2 = tl.sum(weighted, axis=0) / columns
    tl.store(dx + row * columns + places, (weighted - (normal * c1 + c2)) * scale, mask=inside)
    tl.store(dw + row * columns + places, slope * normal, mask=inside)
    tl.store(db + row * columns + places, slope, mask=inside)


@triton.jit
def attention(out, q, k, v, scale, length, CAUSAL: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    head = tl.program_id(1) * length * D
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    rows = m[:, None] < length
    query = tl.load(q + head + m[:, None] * D + d[None, :], mask=rows, other=0.0)
    highest = tl.full((BM,), -1e30, tl.float32)
    total = tl.zeros((BM,), tl.float32)
    result = tl.zeros((BM, D), tl.float32)
    for start in range(0, length, BN):
        n = start + tl.arange(0, BN)
        key = tl.load(k + head + n[None, :] * D + d[:, None], mask=n[None, :] < length, other=0.0)
        value = tl.load(v + head + n[:, None] * D + d[None, :], mask=n[:, None] < length, other=0.0)
        score = tl.dot(query, key, input_precision="ieee") * scale
        allowed = n[None, :] < length
        if CAUSAL:
            allowed = allowed & (m[:, None] >= n[None, :])
        score = tl.where(allowed, score, -1e30)
        new = tl.maximum(highest, tl.max(score, axis=1))
        power = tl.where(allowed, tl.exp(score - new[:, None]), 0.0)
        factor = tl.exp(highest - new)
        total = total * factor + tl.sum(power, axis=1)
        result = tl.dot(power.to(value.dtype), value, result * factor[:, None], input_precision="ieee")
        highest = new
    tl.store(out + head + m[:, None] * D + d[None, :], result / total[:, None], mask=rows)


@triton.jit
def tile_of_product(out, a, b, tile, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    blocks_n = tl.cdiv(N, BN)
    m = tile // blocks_n * BM + tl.arange(0, BM)
    n = tile % blocks_n * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        left = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        right = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        total = tl.dot(left, right, total)
    tl.store(out + m[:, None] * N + n[None, :], total.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def grouped_matmul(
    outs,
    lefts,
    rights,
    sizes,
    GROUPS: tl.constexpr,
    PROGRAMS: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    tile, before = tl.program_id(0), 0
    for group in range(GROUPS):
        m = tl.load(sizes + 3 * group).to(tl.int32)
        n = tl.load(sizes + 3 * group + 1).to(tl.int32)
        k = tl.load(sizes + 3 * group + 2).to(tl.int32)
        tiles = tl.cdiv(m, BM) * tl.cdiv(n, BN)
        out = tl.load(outs + group).to(tl.pointer_type(tl.float16))
        a = tl.load(lefts + group).to(tl.pointer_type(tl.float16))
        b = tl.load(rights + group).to(tl.pointer_type(tl.float16))
        while tile >= before and tile < before + tiles:
            tile_of_product(out, a, b, tile - before, m, n, k, BM, BN, BK)
            tile += PROGRAMS
        before += tiles
