"""Every scalar type in every place of a kernel, as kernels: what docs/dtype-support.md lists and the tests run.

A kernel of this table gets `seeds`, eight small integers, and writes what `expected` says into `out`; in between the
value goes through one place in the type.  Where no memory holds it, it is compared there: what is only converted and
converted back is optimised away.  Further arguments are made of zeros.
"""

from __future__ import annotations

from dataclasses import dataclass

DTYPES = ("bool_", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64")
"""The scalar types."""
SEEDS = (0, 1, 2, 3, 5, 8, 13, 100)
"""The numbers that go through each place; each type holds them, a bool their truth."""


@dataclass(frozen=True, slots=True)
class Place:
    """One place where a value of a type can be."""

    name: str
    """As the table calls it."""
    body: str
    """Statements; `T` stands for the type, `s` is the seed of work-item `i`."""
    parameter: str = ""
    """One more parameter, ``name: type``."""
    before: str = ""
    """What stands before the kernel."""


_HELPER = "def same(v: lp.T) -> lp.T:\n    return lp.T(7) if v == lp.T(7) else v\n"  # not to be folded
_STRUCT = "@lp.struct\nclass Pair:\n    first: lp.i32\n    second: lp.T\n"

PLACES = (
    Place(
        "local variable",
        "v: lp.T = lp.T(s)\nif v == lp.T(seeds[7]):\n    v = lp.T(100)\nout[i] = lp.i32(v)",
    ),
    Place("literal", "v: lp.T = ONE\nout[i] = s * lp.i32(v)"),
    Place("conversion to and from f32", "v = lp.T(lp.f32(s))\nout[i] = lp.i32(lp.f32(v))"),
    Place("argument", "out[i] = s + lp.i32(a)", "a: lp.T"),
    Place("array element", "x[i] = lp.T(s)\nout[i] = lp.i32(x[i])", "x: lp.Array[lp.T]"),
    Place("array of vectors", "x[i] = lp.Tx4(lp.T(s))\nout[i] = lp.i32(x[i].w)", "x: lp.Array[lp.Tx4]"),
    Place(
        "vector",
        "v = lp.Tx3(lp.T(0), lp.T(s), lp.T(1))\nif v.y == lp.T(seeds[7]):\n    v.y = lp.T(100)\n"
        "out[i] = lp.i32(v.zyx.y)",
    ),
    Place("fixed array argument", "out[i] = s + lp.i32(a[i % 3])", "a: lp.FixedArray[lp.T, 3]"),
    Place(
        "fixed array of structs",
        "p = lp.FixedArray[Pair, 2]()\np[i % 2].second = lp.T(s)\nout[i] = lp.i32(p[i % 2].second)",
        before=_STRUCT,
    ),
    Place(
        "shared memory",
        "m = lp.local.array(8, lp.T)\nm[i] = lp.T(s)\nlp.barrier()\nout[i] = lp.i32(m[i])",
    ),
    Place("private array", "m = lp.private.array(2, lp.T)\nm[i % 2] = lp.T(s)\nout[i] = lp.i32(m[i % 2])"),
    Place(
        "struct in an array",
        "x[i].second = lp.T(s)\nout[i] = lp.i32(x[i].second)",
        "x: lp.Array[Pair]",
        _STRUCT,
    ),
    Place("struct argument", "out[i] = s + lp.i32(p.second)", "p: Pair", _STRUCT),
    Place("result of a helper", "out[i] = lp.i32(same(lp.T(s)))", before=_HELPER),
    Place("specialization constant", "out[i] = s * lp.i32(C)", before="C = lp.SpecializationId(lp.T, ONE)\n"),
    Place(
        "work-group reduction",
        'total = lp.group.reduce(lp.T(s) if i == 3 else lp.T(0), "REDUCE")\nout[i] = s + lp.i32(total) - 3',
    ),
    Place(
        "sub-group reduction",
        "v = lp.T(1) if lp.sub_group.id() == 0 else lp.T(0)\n"
        'out[i] = s + lp.i32(lp.sub_group.reduce(v, "REDUCE")) - 1',
    ),
    Place("sub-group shuffle", "out[i] = lp.i32(lp.sub_group.shuffle(lp.T(s), lp.sub_group.id()))"),
    Place(
        "atomic exchange",
        "lp.atomic.exchange(x, i, lp.T(s))\nout[i] = lp.i32(lp.atomic.load(x, i))",
        "x: lp.Array[lp.T]",
    ),
    Place("atomic addition", "lp.atomic.add(x, i, lp.T(s))\nout[i] = lp.i32(x[i])", "x: lp.Array[lp.T]"),
    Place("atomic maximum", "lp.atomic.max(x, i, lp.T(s))\nout[i] = lp.i32(x[i])", "x: lp.Array[lp.T]"),
)
"""The places."""


def source(place: Place, dtype: str) -> str:
    """Returns the text of the kernel for one place and type."""
    one = "True" if dtype == "bool_" else "1.0" if "f" in dtype else "1"
    parameters = ", ".join(filter(None, ("seeds: lp.In[lp.i32]", place.parameter, "out: lp.Out[lp.i32]")))
    body = "\n".join(f"    {line}" for line in place.body.splitlines())
    text = (
        f"{place.before}\n@lp.kernel(local_size=8)\ndef through({parameters}):\n"
        f"    i = lp.global_id(0)\n    s = seeds[i]\n{body}\n"
    )
    vector = dtype.rstrip("_")
    for spelling, meaning in (
        ("lp.Tx", f"lp.{vector}x"),
        ("lp.T", f"lp.{dtype}"),
        ("ONE", one),
        ("REDUCE", "or" if dtype == "bool_" else "add"),
    ):
        text = text.replace(spelling, meaning)
    return text


def expected(place: Place, dtype: str) -> list[int]:
    """Returns what the kernel writes."""
    seeds: list[int] = list(SEEDS)
    through = [int(seed != 0) for seed in seeds] if dtype == "bool_" else seeds
    if place.name == "work-group reduction":
        total = 1 if dtype == "bool_" else SEEDS[3]
        return [seed + total - 3 for seed in SEEDS]
    if place.name in (
        "argument",
        "fixed array argument",
        "struct argument",
        "literal",
        "specialization constant",
        "sub-group reduction",
    ):
        return seeds
    return through
