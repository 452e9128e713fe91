"""Kernels on integers, comparisons and conversions of upstream's, and what each gives; all results are exact."""

from __future__ import annotations

from typing import Any

import numpy as np

from .upstream_kernels import Case, flat

_HEAD = """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %first = arith.muli %i, %c8 : index
    %second = arith.addi %first, %c1 : index
    %a = memref.load %n[%first] : memref<?xi32>
    %b0 = memref.load %n[%second] : memref<?xi32>
    %i1 = arith.constant 1 : i32
    %b = arith.ori %b0, %i1 : i32
    %big = arith.constant 1234567891 : i32
    %c = arith.muli %a, %big : i32
    %u = memref.load %x[%first] : memref<?xf32>
    %v = memref.load %x[%second] : memref<?xf32>
"""
_BINARY = ("ceildivsi", "ceildivui", "floordivsi", "divsi", "divui", "remsi", "remui", "maxui", "minui")
_INDEX = ("add", "sub", "mul", "divs", "divu", "rems", "remu", "ceildivs", "floordivs", "maxs", "minu", "xor")


def _stored(values: list[str], type_: str = "i32", array: str = "o") -> str:
    element = "memref<?x?xi32>" if array == "o" else "memref<?x?xf32>"
    return "".join(
        f"    %at{array}{k} = arith.constant {k} : index\n"
        f"    memref.store {value}, %{array}[%i, %at{array}{k}] : {element}\n"
        for k, value in enumerate(values)
    )


def _wrapped(number: int) -> np.int32:
    return np.uint32(number & 0xFFFFFFFF).astype(np.int32)


def _divided(c: int, b: int) -> list[np.int32]:
    uc, ub = c & 0xFFFFFFFF, b & 0xFFFFFFFF
    quotient = abs(c) // abs(b) * (1 if (c < 0) == (b < 0) else -1)
    numbers = [
        -(-c // b),
        -(-uc // ub),
        c // b,
        quotient,
        uc // ub,
        c - quotient * b,
        uc % ub,
        max(uc, ub),
        min(uc, ub),
    ]
    return [_wrapped(number) for number in numbers]


def _integers(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    a, b = int(n[0]), int(n[1]) | 1
    c = int(_wrapped(a * 1234567891))
    uc, ub = c & 0xFFFFFFFF, b & 0xFFFFFFFF
    bits = f"{uc:032b}"
    power = (pow(b, abs(a)) if a >= 0 else 0) & 0xFFFFFFFF
    ends = [len(bits) - len(bits.lstrip("0")), len(bits) - len(bits.rstrip("0")), bits.count("1"), abs(c)]
    products = [c * b, (c * b) >> 32, uc * ub, (uc * ub) >> 32, uc + ub, int(uc + ub > 0xFFFFFFFF)]
    return [], [*_divided(c, b), *map(_wrapped, products), *ends, _wrapped(power)]


def _indices(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    a, b = int(n[0]), int(n[1]) | 1
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    positive = [a + 9, abs(b)]
    found = [
        a + b,
        a - b,
        a * b,
        quotient,
        positive[0] // positive[1],
        a - quotient * b,
        positive[0] % positive[1],
    ]
    found += [-(-a // b), a // b, max(a, b), min(positive), a ^ b]
    return [], [*found, int(a < b)]


def _casts(x: np.ndarray, n: np.ndarray) -> tuple[list[Any], list[Any]]:
    u, v = x[0], x[1]
    compared = [u == v, u > v, u >= v, u < v, u <= v, u != v, True, False, True, False]
    pair = np.float32([u, v]).view(np.int32)
    return flat(np.float32(n[0]), np.copysign(u, v), np.fmod(u, np.float32(2.5)), u), [
        *map(int, compared),
        int(u),
        *pair,
    ]


ARITHMETIC: dict[str, Case] = {
    "integers": Case(
        _HEAD
        + "".join(f"    %r{k} = arith.{word} %c, %b : i32\n" for k, word in enumerate(_BINARY))
        + """
    %sl, %sh = arith.mulsi_extended %c, %b : i32
    %ul, %uh = arith.mului_extended %c, %b : i32
    %al, %ac = arith.addui_extended %c, %b : i32, i1
    %ai = arith.extui %ac : i1 to i32
    %lz = math.ctlz %c : i32
    %tz = math.cttz %c : i32
    %pc = math.ctpop %c : i32
    %ab = math.absi %c : i32
    %pw = math.ipowi %b, %a : i32
    %no = arith.cmpi slt, %a, %zeroi : i32
    %pn = arith.select %no, %zeroi, %pw : i32
""".replace("%zeroi", "%z32").replace("    %sl, %sh", "    %z32 = arith.constant 0 : i32\n    %sl, %sh")
        + _stored(
            [
                *(f"%r{k}" for k in range(9)),
                *("%sl", "%sh", "%ul", "%uh", "%al", "%ai", "%lz", "%tz", "%pc", "%ab", "%pn"),
            ]
        ),
        _integers,
    ),
    "indices": Case(
        _HEAD
        + """
    %ia = index.casts %a : i32 to index
    %ib = index.casts %b : i32 to index
    %nine = index.constant 9
    %pa = index.add %ia, %nine
    %zi = index.constant 0
    %mb = index.sub %zi, %ib
    %pb = index.maxs %ib, %mb
"""
        + "".join(
            f"    %r{k} = index.{word} {'%pa, %pb' if word.endswith('u') else '%ia, %ib'}\n"
            f"    %s{k} = index.castu %r{k} : index to i32\n"
            for k, word in enumerate(_INDEX)
        )
        + "    %less = index.cmp slt(%ia, %ib)\n    %li = arith.extui %less : i1 to i32\n"
        + _stored([*(f"%s{k}" for k in range(len(_INDEX))), "%li"]),
        _indices,
    ),
    "casts": Case(
        _HEAD
        + "".join(
            f"    %q{k} = arith.cmpf {word}, %u, %v : f32\n    %p{k} = arith.extui %q{k} : i1 to i32\n"
            for k, word in enumerate(
                ("oeq", "ogt", "uge", "ult", "ole", "une", "ord", "uno", "true", "false")
            )
        )
        + """
    %fi = arith.fptosi %u : f32 to i32
    %bu = arith.bitcast %u : f32 to i32
    %bv = arith.bitcast %v : f32 to i32
    %fa = arith.sitofp %a : i32 to f32
    %cs = math.copysign %u, %v : f32
    %h = arith.constant 2.5 : f32
    %rm = arith.remf %u, %h : f32
    %inf = arith.constant 0x7F800000 : f32
    %ri = arith.remf %u, %inf : f32
"""
        + _stored([*(f"%p{k}" for k in range(10)), "%fi", "%bu", "%bv"])
        + _stored(["%fa", "%cs", "%rm", "%ri"], "f32", "y"),
        _casts,
    ),
}
"""By name."""
