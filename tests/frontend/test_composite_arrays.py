"""What kernels do not do with fixed arrays of vectors and structs, and what they are told to write."""

from __future__ import annotations

import pytest

import lapilli as lp
from lapilli.frontend.builder import build_module
from lapilli.ir.errors import CompileError

HEADER = """
import lapilli as lp

@lp.struct
class Particle:
    mass: lp.f32
    position: lp.f32x3

Group = lp.FixedArray[Particle, 2]
Points = lp.FixedArray[lp.f32x3, 2]

@lp.kernel
def k(group: Group, points: Points, x: lp.Array[lp.f32]):
"""


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("x[0] = group.mass", "has no attribute 'mass'", r"index an element: group\[i\]\.mass"),
        ("y = points.T", "has no attribute 'T'", r"index an element: points\[i\]\.T"),
        ("y = group + group", "take numbers, vectors and arrays of these of one shape", "write a loop"),
        ("y = points + group", "take numbers, vectors and arrays of these of one shape", "write a loop"),
        ("y = points + lp.FixedArray[lp.f32x3, 3]()", "arrays of these of one shape", "write a loop"),
        ("y = points + lp.f32x2(1.0)", "arrays of these of one shape", "write a loop"),
        ("y = group[2]", "index 2 is out of range of a dimension of length 2", "indices go from 0 to 1"),
        ("y = group[0, 1]", "takes 1 index, found 2", None),
        (
            "y = group == group",
            r"operators and functions of fixed arrays take .*found lp.FixedArray\[Particle, 2\]",
            "loop over the elements",
        ),
        ("group[0] = 3.0", "the element holds Particle, found float literal", r"make one: Particle\(…\)"),
        ("y = Group(1.0)", "the element holds Particle, found float literal", r"make one: Particle\(…\)"),
        ("y = Group(group[0])", r"has 2 elements, found 1", "all of them in C order"),
        ("y = Points(1.0, 2.0)", r"has 6 components, found 2", "one number for all"),
        ("y: Group = (1.0, 2.0)", "holds Particle, found float literal", None),
        ("x[0] = points", r"'x' holds lp.f32, found lp.FixedArray\[lp.f32x3, 2\]", "index an element"),
        ("y = max(points)", "takes two or more numbers", None),
        ("y = lp.math.frexp(points)", "takes numbers and vectors", "index an element"),
        ("y = points if x[0] > 0 else group", r"lp.FixedArray\[Particle, 2\] on the other|common", None),
    ],
)
def test_what_is_refused(line: str, message: str, hint: str | None) -> None:
    kernel = lp.kernel_from_source(f"{HEADER}    {line}\n", name="k")
    with pytest.raises(CompileError, match=message) as caught:
        build_module([kernel])
    if hint is not None:
        caught.match(f"help: .*{hint}")


def test_a_loop_that_changes_what_it_runs_over() -> None:
    text = f"{HEADER}    for p in group:\n        group[0].mass += p.mass\n"
    with pytest.raises(CompileError, match="this loop runs over 'group' and changes it"):
        build_module([lp.kernel_from_source(text, name="k")])
