"""Bits and integers as users of Numba, Triton and CUDA write them: hashes, ciphers, random numbers, codes of space."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

MASK = 0xFFFFFFFF


# SHA-256: literals that become u32 through helpers of themselves, a table of constants


def _fractions(root: float, count: int) -> list[int]:
    primes = [n for n in range(2, 400) if all(n % k for k in range(2, n))][:count]
    return [int(p**root % 1 * 2**32) for p in primes]


ROUND_KEYS = np.array(_fractions(1 / 3, 64), np.uint32)
START = tuple(_fractions(1 / 2, 8))


def rotate_right(x, n):
    return (x >> n) | (x << (32 - n))


def mixed(x, i, j, k):
    return rotate_right(x, i) ^ rotate_right(x, j) ^ rotate_right(x, k)


@lp.kernel
def sha256(blocks: lp.In[lp.u32, 2], digests: lp.Out[lp.u32, 2]):
    m = lp.global_id(0)
    w = lp.private.array(16, lp.u32)
    for t in range(16):
        w[t] = blocks[m, t]
    a, b, c, d, e, f, g, h = START
    for t in range(64):
        if t >= 16:
            x, y = w[(t - 15) & 15], w[(t - 2) & 15]
            near = rotate_right(x, 7) ^ rotate_right(x, 18) ^ (x >> 3)
            far = rotate_right(y, 17) ^ rotate_right(y, 19) ^ (y >> 10)
            w[t & 15] += near + w[(t - 7) & 15] + far
        one = h + mixed(e, 6, 11, 25) + ((e & f) ^ (~e & g)) + ROUND_KEYS[t] + w[t & 15]
        two = mixed(a, 2, 13, 22) + ((a & b) ^ (a & c) ^ (b & c))
        a, b, c, d, e, f, g, h = one + two, a, b, c, d + one, e, f, g
    for k, value in enumerate((a, b, c, d, e, f, g, h)):
        digests[m, k] = START[k] + value


def test_sha256(device):
    messages = [bytes([i]) * (7 * i) for i in range(6)]
    padded = [m + b"\x80" + bytes(55 - len(m)) + (8 * len(m)).to_bytes(8, "big") for m in messages]
    blocks = np.stack([np.frombuffer(p, ">u4") for p in padded]).astype(np.uint32)
    digests = lp.empty((6, 8), lp.u32, device=device)
    sha256[6](lp.asarray(blocks, device=device), digests)
    found = [row.astype(">u4").tobytes() for row in digests.numpy()]
    assert found == [hashlib.sha256(m).digest() for m in messages]


# ChaCha20: four results of a helper go back to where its arguments came from

COLUMNS = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15))
DIAGONALS = ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))


def quarter(a, b, c, d):
    a += b
    d = rotate_right(d ^ a, 16)
    c += d
    b = rotate_right(b ^ c, 20)
    a += b
    d = rotate_right(d ^ a, 24)
    c += d
    b = rotate_right(b ^ c, 25)
    return a, b, c, d


@lp.kernel
def chacha20(key: lp.In[lp.u32], nonce: lp.In[lp.u32], out: lp.Out[lp.u32, 2]):
    block = lp.global_id(0)
    state = lp.FixedArray[lp.u32, 16]()
    state[0], state[1], state[2], state[3] = 0x61707865, 0x3320646E, 0x79622D32, 0x6B206574
    for k in range(8):
        state[4 + k] = key[k]
    state[12] = block + 1
    for k in range(3):
        state[13 + k] = nonce[k]
    w = state  # a copy
    for _ in range(10):
        for i, j, k, m in COLUMNS + DIAGONALS:
            w[i], w[j], w[k], w[m] = quarter(w[i], w[j], w[k], w[m])
    for k in range(16):
        out[block, k] = w[k] + state[k]


def chacha20_block(state: list[int]) -> list[int]:
    w = list(state)

    def step(x: int, y: int, z: int, count: int) -> None:
        w[x] = (w[x] + w[y]) & MASK
        turned = w[z] ^ w[x]
        w[z] = (turned << count | turned >> (32 - count)) & MASK

    for _ in range(10):
        for a, b, c, d in COLUMNS + DIAGONALS:
            for x, y, z, count in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                step(x, y, z, count)
    return [(x + y) & MASK for x, y in zip(w, state, strict=True)]


def test_chacha20(device):
    key, nonce = np.arange(8, dtype=np.uint32) * 0x04030201, np.array([9, 0x4A000000, 0], np.uint32)
    out = lp.empty((3, 16), lp.u32, device=device)
    chacha20[3](lp.asarray(key, device=device), lp.asarray(nonce, device=device), out)
    words = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *key.tolist()]
    assert out.numpy().tolist() == [chacha20_block([*words, n + 1, *nonce.tolist()]) for n in range(3)]


# Dropout with Philox 4x32-10, as Triton's tl.rand


def philox(c0, c1, c2, c3, k0, k1):
    for _ in lp.static_range(10):
        high, higher = lp.math.mul_hi(c0, lp.u32(0xD2511F53)), lp.math.mul_hi(c2, lp.u32(0xCD9E8D57))
        c0, c1, c2, c3 = higher ^ c1 ^ k0, c2 * 0xCD9E8D57, high ^ c3 ^ k1, c0 * 0xD2511F53
        k0 += 0x9E3779B9
        k1 += 0xBB67AE85
    return c0, c1, c2, c3


@lp.kernel
def dropout(x: lp.In[lp.f32], out: lp.Out[lp.f32], words: lp.Out[lp.u32, 2], p: lp.f32, seed: lp.u32):
    i = lp.global_id(0)
    four = philox(lp.u32(i), lp.u32(0), lp.u32(0), lp.u32(0), seed, lp.u32(0))
    for k, word in enumerate(four):
        words[i, k] = word
    out[i] = x[i] / (1 - p) if lp.f32(four[0] >> 8) / 2**24 >= p else 0.0


def philox_of(counter: int, seed: int) -> list[int]:
    c, k = [counter, 0, 0, 0], [seed, 0]
    for _ in range(10):
        low, high = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [high >> 32 ^ c[1] ^ k[0], high & MASK, low >> 32 ^ c[3] ^ k[1], low & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def test_dropout_by_philox(device):
    x = np.linspace(1, 2, 50, dtype=np.float32)
    out, words = lp.empty(50, device=device), lp.empty((50, 4), lp.u32, device=device)
    dropout[50](lp.asarray(x, device=device), out, words, 0.25, 2024)
    expected = np.array([philox_of(i, 2024) for i in range(50)], np.uint32)
    np.testing.assert_array_equal(words.numpy(), expected)
    kept = np.where((expected[:, 0] >> 8) / 2**24 >= 0.25, x / 0.75, 0)
    np.testing.assert_allclose(out.numpy(), kept, rtol=1e-6)


# A linear BVH over Morton codes (Karras 2012): bit tricks, clz, searches in helpers


def spread(v):
    for count, mask in ((16, 0xFF0000FF), (8, 0x0F00F00F), (4, 0xC30C30C3), (2, 0x49249249)):
        v = (v | v << count) & mask
    return v


def common(codes, i, j):
    if j < 0 or j >= len(codes):
        return -1
    return lp.i32(lp.clz(codes[i] ^ codes[j]) if codes[i] != codes[j] else 32 + lp.clz(lp.u32(i ^ j)))


@lp.kernel
def morton(points: lp.In[lp.f32x3], codes: lp.Out[lp.u32]):
    i = lp.global_id(0)
    cell = min(max(points[i] * 1024, 0.0), 1023.0)
    codes[i] = spread(lp.u32(cell.x)) * 4 + spread(lp.u32(cell.y)) * 2 + spread(lp.u32(cell.z))


@lp.kernel
def hierarchy(codes: lp.In[lp.u32], children: lp.Out[lp.i32, 2]):
    i, leaves = lp.global_id(0), len(codes)
    d = 1 if common(codes, i, i + 1) > common(codes, i, i - 1) else -1
    least, reach, length = common(codes, i, i - d), 2, 0
    while common(codes, i, i + reach * d) > least:
        reach *= 2
    while reach > 1:
        reach //= 2
        if common(codes, i, i + (length + reach) * d) > least:
            length += reach
    j = i + length * d
    own, split, step = common(codes, i, j), 0, length
    while step > 1:
        step = (step + 1) // 2
        if split + step < length and common(codes, i, i + (split + step) * d) > own:
            split += step
    middle = i + split * d + min(d, 0)
    children[i, 0] = middle + (leaves - 1 if min(i, j) == middle else 0)
    children[i, 1] = middle + 1 + (leaves - 1 if max(i, j) == middle + 1 else 0)


def test_linear_bvh(device):
    points = np.random.default_rng(2).random((40, 3), np.float32)
    codes = lp.empty(40, lp.u32, device=device)
    morton[40](lp.asarray(points, lp.f32x3, device=device), codes)
    cells = (points * 1024).astype(np.int64)
    bits = sum((cells >> b & 1) << 3 * b for b in range(10))
    np.testing.assert_array_equal(codes.numpy(), bits @ [4, 2, 1])
    order = np.sort(codes.numpy())
    order[7:10] = order[7]
    children = lp.empty((39, 2), lp.i32, device=device)
    hierarchy[39](lp.asarray(order, device=device), children)

    def leaves(node: int) -> list[int]:
        return [node - 39] if node >= 39 else [k for c in children.numpy()[node] for k in leaves(int(c))]

    assert leaves(0) == list(range(40))


# Products of large integers in words of 32 bits


@lp.kernel
def multiply(a: lp.In[lp.u32, 2], b: lp.In[lp.u32, 2], out: lp.Array[lp.u32, 2]):
    m, n = lp.global_id(0), a.shape[1]
    for i in range(n):
        carry = lp.u32(0)
        for j in range(n):
            low, first = lp.math.add_carry(a[m, i] * b[m, j], out[m, i + j])
            low, second = lp.math.add_carry(low, carry)
            carry = lp.math.mul_hi(a[m, i], b[m, j]) + first + second
            out[m, i + j] = low
        out[m, i + n] = carry


def test_products_of_large_integers(device):
    a, b = np.random.default_rng(9).integers(0, 2**32, (2, 5, 4), dtype=np.uint32)
    a[0], b[0] = MASK, MASK
    out = lp.zeros((5, 8), lp.u32, device=device)
    multiply[5](lp.asarray(a, device=device), lp.asarray(b, device=device), out)
    whole = [[int.from_bytes(row.tobytes(), "little") for row in x] for x in (a, b, out.numpy())]
    assert whole[2] == [x * y for x, y in zip(*whole[:2], strict=True)]
