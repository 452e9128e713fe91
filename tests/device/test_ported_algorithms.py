"""Algorithms as users of Numba, Triton, Taichi, Rodinia and SYCL write them, on every device, against NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device


# Attention by blocks with an online softmax, as Triton's tutorial

BLOCK, WIDTH = 16, 8


@lp.kernel(local_size=(1, BLOCK))
def attention(
    q: lp.In[lp.f32, 3],
    k: lp.In[lp.f32, 3],
    v: lp.In[lp.f32, 3],
    out: lp.Out[lp.f32, 3],
    causal: lp.Const[bool],
):
    head, row, lane = lp.global_id(0), lp.global_id(1), lp.local_id(1)
    keys, values = lp.local.array((BLOCK, WIDTH), lp.f32), lp.local.array((BLOCK, WIDTH), lp.f32)
    query, total = lp.private.array(WIDTH, lp.f32), lp.private.array(WIDTH, lp.f32)
    for d in range(WIDTH):
        query[d] = q[head, row, d] * WIDTH**-0.5
        total[d] = 0
    largest, weight = -float("inf"), 0.0
    for start in range(0, k.shape[1], BLOCK):
        for d in range(WIDTH):
            keys[lane, d] = k[head, start + lane, d]
            values[lane, d] = v[head, start + lane, d]
        lp.barrier()
        for j in range(BLOCK):
            score = 0.0
            for d in range(WIDTH):
                score += query[d] * keys[j, d]
            if causal:
                score = score if start + j <= row else -float("inf")
            larger = max(largest, score)
            scale, p = math.exp(largest - larger), math.exp(score - larger)
            weight = weight * scale + p
            for d in range(WIDTH):
                total[d] = total[d] * scale + p * values[j, d]
            largest = larger
        lp.barrier()
    for d in range(WIDTH):
        out[head, row, d] = total[d] / weight


@pytest.mark.parametrize("causal", [False, True])
def test_attention(device, causal):
    q, k, v = np.random.default_rng(1).standard_normal((3, 2, 32, WIDTH)).astype(np.float32)
    out = lp.empty(q.shape, device=device)
    attention[2, 32](*(lp.asarray(x, device=device) for x in (q, k, v)), out, causal)
    scores = q @ k.transpose(0, 2, 1) * WIDTH**-0.5
    if causal:
        scores = np.where(np.tri(32, dtype=bool), scores, -np.inf)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    np.testing.assert_allclose(out.numpy(), p / p.sum(-1, keepdims=True) @ v, atol=1e-5)


# Union-find and a hash table: compare-exchange in helpers and loops


def root_of(parent, x):
    above = lp.atomic.load(parent, x)
    while above != x:
        over = lp.atomic.load(parent, above)
        lp.atomic.compare_exchange(parent, x, above, over)
        x, above = over, lp.atomic.load(parent, over)
    return x


@lp.kernel
def unite(parent: lp.Array[lp.i32], edges: lp.In[lp.i32, 2]):
    a, b = edges[lp.global_id(0), 0], edges[lp.global_id(0), 1]
    is_done = False
    while not is_done:
        a, b = root_of(parent, a), root_of(parent, b)
        a, b = min(a, b), max(a, b)
        is_done = a == b or lp.atomic.compare_exchange(parent, b, b, a) == b


def test_union_find(device):
    edges = np.random.default_rng(4).integers(0, 60, (45, 2)).astype(np.int32)
    parent = lp.asarray(np.arange(60, dtype=np.int32), device=device)
    unite[45](parent, lp.asarray(edges, device=device))
    roots, expected = parent.numpy(), np.arange(60)
    for _ in range(60):
        roots = roots[roots]
        np.minimum.at(expected, edges, expected[edges].min(1, keepdims=True))
    np.testing.assert_array_equal(roots, expected)


SLOTS, EMPTY = 128, 0xFFFFFFFF


@lp.struct
class Slot:
    key: lp.u32 = EMPTY
    count: lp.u32


def hashed(k):
    k = (k ^ k >> 16) * 0x85EBCA6B
    k = (k ^ k >> 13) * 0xC2B2AE35
    return (k ^ k >> 16) % SLOTS


@lp.kernel
def count_keys(table: lp.Array[Slot], keys: lp.In[lp.u32]):
    key = keys[lp.global_id(0)]
    slot = hashed(key)
    while True:
        found = lp.atomic.compare_exchange(table, (slot, "key"), EMPTY, key)
        if found in (EMPTY, key):
            lp.atomic.add(table, (slot, "count"), 1)
            return
        slot = (slot + 1) % SLOTS


def test_hash_table(device):
    keys = np.random.default_rng(5).integers(0, 80, 300, dtype=np.uint32)
    table = lp.full(SLOTS, Slot(), Slot, device=device)
    count_keys[300](table, lp.asarray(keys, device=device))
    found = {int(s["key"]): int(s["count"]) for s in table.numpy() if s["key"] != EMPTY}
    assert found == dict(zip(*(x.tolist() for x in np.unique(keys, return_counts=True)), strict=True))


# Fourier transform (Stockham) of structs with operators


@lp.struct
class Complex:
    re: lp.f32
    im: lp.f32

    def __add__(self, other):
        return Complex(self.re + other.re, self.im + other.im)

    def __sub__(self, other):
        return Complex(self.re - other.re, self.im - other.im)

    def __mul__(self, other):
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)


@lp.kernel
def transform(x: lp.In[Complex], y: lp.Out[Complex], n: lp.i32, stride: lp.i32):
    p, q = divmod(lp.global_id(0), stride)
    angle = -2 * math.pi * p / n
    a, b = x[q + stride * p], x[q + stride * (p + n // 2)]
    y[q + stride * 2 * p] = a + b
    y[q + stride * (2 * p + 1)] = (a - b) * Complex(math.cos(angle), math.sin(angle))


def test_fourier_transform(device):
    signal = np.random.default_rng(6).standard_normal((64, 2)).astype(np.float32)
    x = lp.asarray(signal.view(Complex.dtype).reshape(-1), device=device)
    y = lp.empty_like(x)
    for level in range(6):
        transform[32](x, y, 64 >> level, 1 << level)
        x, y = y, x
    found = x.numpy().view(np.complex64)
    np.testing.assert_allclose(found, np.fft.fft(signal.view(np.complex64).reshape(-1)), atol=1e-4)


# Shortest path through a grid by blocks with halos (Rodinia's pathfinder)

LANES = 64


@lp.kernel(local_size=LANES)
def descend(costs: lp.In[lp.i32, 2], above: lp.In[lp.i32], below: lp.Out[lp.i32]):
    rows, columns = costs.shape
    before, after = lp.local.array(LANES, lp.i32), lp.local.array(LANES, lp.i32)
    lane = lp.local_id(0)
    column = lp.group_id(0) * (LANES - 2 * rows) + lane - rows
    is_inside = 0 <= column < columns
    before[lane] = above[column] if is_inside else 2**30
    is_known = is_inside
    lp.barrier()
    for row in range(rows):
        is_known = is_inside and row < lane < LANES - 1 - row
        if is_known:
            after[lane] = costs[row, column] + min(before[lane - 1], before[lane], before[lane + 1])
        lp.barrier()
        if is_known:
            before[lane] = after[lane]
        lp.barrier()
    if is_known:
        below[column] = before[lane]


def test_pathfinder(device):
    costs = np.random.default_rng(7).integers(0, 10, (6, 100)).astype(np.int32)
    below = lp.empty(100, lp.i32, device=device)
    above = np.arange(100, dtype=np.int32) % 7
    groups = -(-100 // (LANES - 12))
    descend[groups * LANES](lp.asarray(costs, device=device), lp.asarray(above, device=device), below)
    expected = above
    for row in costs:
        padded = np.pad(expected, 1, constant_values=2**30)
        expected = row + np.minimum(np.minimum(padded[:-2], padded[2:]), expected)
    np.testing.assert_array_equal(below.numpy(), expected)


# Breadth-first search over frontiers whose length only the device knows


@lp.kernel
def expand(
    rows: lp.In[lp.i32],
    columns: lp.In[lp.i32],
    frontier: lp.In[lp.i32],
    found: lp.Array[lp.i32],
    count: lp.Array[lp.u32],
    distance: lp.Array[lp.i32],
    level: lp.i32,
):
    node = frontier[lp.global_id(0)]
    for e in range(rows[node], rows[node + 1]):
        if lp.atomic.compare_exchange(distance, columns[e], -1, level) == -1:
            found[lp.i32(lp.atomic.add(count, 0, 1))] = columns[e]


def test_breadth_first_search(device):
    edges = np.random.default_rng(8).integers(0, 90, (200, 2)).astype(np.int32)
    edges = edges[np.argsort(edges[:, 0], kind="stable")]
    rows = np.searchsorted(edges[:, 0], np.arange(91)).astype(np.int32)
    expected, level = np.where(np.arange(90) == 0, 0, -1), 0
    while (reached := expected == level).any():
        level += 1
        nodes = edges[reached[edges[:, 0]], 1]
        expected[nodes[expected[nodes] < 0]] = level
    rows, columns = lp.asarray(rows, device=device), lp.asarray(edges[:, 1], device=device)
    distance = lp.asarray(np.where(np.arange(90) == 0, 0, -1).astype(np.int32), device=device)
    frontiers = [lp.zeros(90, lp.i32, device=device) for _ in range(2)]
    counts = [lp.ones(1, lp.u32, device=device), lp.zeros(1, lp.u32, device=device)]
    for step in range(level):
        counts[1].fill(0)
        expand[lp.IndirectRange(counts[0])](rows, columns, *frontiers, counts[1], distance, step + 1)
        frontiers.reverse()
        counts.reverse()
    np.testing.assert_array_equal(distance.numpy(), expected)


# Runge-Kutta on fixed arrays with operators, SYCL's marray

State = lp.FixedArray[lp.f32, 3]


def lorenz(s):
    return State(10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2])


@lp.kernel
def runge_kutta(points: lp.Array[lp.f32, 2], h: lp.f32, rounds: lp.i32):
    i = lp.global_id(0)
    s = State(points[i, 0], points[i, 1], points[i, 2])
    for _ in range(rounds):
        one = lorenz(s)
        two = lorenz(s + h / 2 * one)
        three = lorenz(s + h / 2 * two)
        s += h / 6 * (one + 2 * two + 2 * three + lorenz(s + h * three))
    for k in range(3):
        points[i, k] = s[k]


def slope(s: np.ndarray) -> np.ndarray:
    return np.stack([10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]])


def test_runge_kutta(device):
    start = np.random.default_rng(10).random((6, 3), np.float32)
    points = lp.asarray(start, device=device)
    runge_kutta[6](points, 0.01, 20)
    s = start.T.astype(np.float64)
    for _ in range(20):
        one = slope(s)
        two = slope(s + 0.005 * one)
        three = slope(s + 0.005 * two)
        s = s + 0.01 / 6 * (one + 2 * two + 2 * three + slope(s + 0.01 * three))
    np.testing.assert_allclose(points.numpy(), s.T, rtol=1e-4)
