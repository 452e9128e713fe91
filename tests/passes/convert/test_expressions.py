"""One operation at a time: which instructions it becomes, in a module that SPIRV-Tools accepts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lapilli.ir.target_env import TargetEnv
from lapilli.passes.errors import PassError

Fixture = Callable[..., Any]

BINARY = {
    "arith.addi": "IAdd",
    "arith.subi": "ISub",
    "arith.muli": "IMul",
    "arith.divsi": "SDiv",
    "arith.divui": "UDiv",
    "arith.remsi": "SDiv IMul ISub",
    "arith.remui": "UMod",
    "arith.floordivsi": "SDiv IMul INotEqual BitwiseXor SLessThan LogicalAnd ISub Select",
    "arith.ceildivsi": "SDiv IMul INotEqual BitwiseXor SLessThan LogicalNot LogicalAnd IAdd Select",
    "arith.ceildivui": "UDiv IMul INotEqual IAdd Select",
    "arith.andi": "BitwiseAnd",
    "arith.ori": "BitwiseOr",
    "arith.xori": "BitwiseXor",
    "arith.shli": "ShiftLeftLogical",
    "arith.shrsi": "ShiftRightArithmetic",
    "arith.shrui": "ShiftRightLogical",
    "arith.minsi": "GL.SMin",
    "arith.maxsi": "GL.SMax",
    "arith.minui": "GL.UMin",
    "arith.maxui": "GL.UMax",
}
EXTREMUM = "Bitcast Bitcast Bitwise{} Bitcast FAdd FOrdEqual Select {} Select {} Select"
SIGN_OF_OTHER_FLOATS = (
    "Bitcast Bitcast {} Bitcast",
    "FConvert Bitcast FConvert Bitcast {} SLessThan GL.FAbs FNegate Select",
)
"""How extrema begin, of f32 and of other floats, whose integers the device may lack."""
FLOAT_BINARY = {
    "arith.addf": "FAdd",
    "arith.subf": "FSub",
    "arith.mulf": "FMul",
    "arith.divf": "FDiv",
    "arith.minnumf": "GL.NMin",
    "arith.maxnumf": "GL.NMax",
    "arith.minimumf": EXTREMUM.format("Or", "FOrdGreaterThan", "FOrdLessThan"),
    "arith.maximumf": EXTREMUM.format("And", "FOrdLessThan", "FOrdGreaterThan"),
}
FLOAT_UNARY = {
    "arith.negf": "FNegate",
    "math.absf": "GL.FAbs",
    "math.sqrt": "GL.Sqrt",
    "math.rsqrt": "GL.InverseSqrt",
    "math.floor": "GL.Floor",
    "math.ceil": "GL.Ceil",
    "math.trunc": "GL.Trunc",
    "math.roundeven": "GL.RoundEven",
    "math.round": "GL.Trunc FSub GL.FAbs FOrdGreaterThanEqual FConvert Bitcast SLessThan FNegate Select "
    "FAdd Select",
}
NARROW_UNARY = {
    "math.exp": "GL.Exp",
    "math.exp2": "GL.Exp2",
    "math.log": "GL.Log",
    "math.log2": "GL.Log2",
    "math.sin": "GL.Sin",
    "math.cos": "GL.Cos",
    "math.tan": "GL.Tan",
    "math.asin": "GL.Asin",
    "math.acos": "GL.Acos",
    "math.atan": "GL.Atan",
    "math.sinh": "GL.Sinh",
    "math.cosh": "GL.Cosh",
    "math.tanh": "GL.Tanh",
    "math.asinh": "GL.Asinh",
    "math.acosh": "GL.Acosh",
    "math.atanh": "GL.Atanh",
}
EXPANDED_UNARY = ("math.expm1", "math.log1p", "math.log10", "math.erf", "math.cbrt")


def body_of(names: list[str]) -> list[str]:
    """The instructions between the last load of the operands and the store of the result."""
    start = max(index for index, name in enumerate(names) if name == "Load") + 1
    stop = next(index for index in range(start, len(names)) if names[index] in ("AccessChain", "Store"))
    return names[start:stop]


def elementwise(lower: Fixture, kernel: Fixture, line: str, types: str, result: str) -> list[str]:
    """Lowers `%r = line` on elements %a, %b, %c of `types` (by position), stored as `result`."""
    names = types.split()
    loads = "\n".join(
        f"%{'abc'[n]} = memref.load %p{n}[%i] : memref<?x{type_}>" for n, type_ in enumerate(names)
    )
    parameters = ", ".join(f"%p{n} : memref<?x{type_}>" for n, type_ in enumerate([*names, result]))
    body = f"{loads}\n%r = {line}\nmemref.store %r, %p{len(names)}[%i] : memref<?x{result}>"
    return body_of(lower(kernel(body, parameters)).names())


@pytest.mark.parametrize("type_", ["i8", "i32", "i64"])
@pytest.mark.parametrize("op", BINARY)
def test_integer_binary(lower: Fixture, kernel: Fixture, op: str, type_: str) -> None:
    found = elementwise(lower, kernel, f"{op} %a, %b : {type_}", f"{type_} {type_}", type_)
    assert found == BINARY[op].split()


@pytest.mark.parametrize("type_", ["f16", "f32", "f64"])
@pytest.mark.parametrize("op", FLOAT_BINARY)
def test_float_binary(lower: Fixture, kernel: Fixture, op: str, type_: str) -> None:
    found = elementwise(lower, kernel, f"{op} %a, %b : {type_}", f"{type_} {type_}", type_)
    expected = FLOAT_BINARY[op]
    if type_ != "f32":
        for combine in ("BitwiseOr", "BitwiseAnd"):
            own, other = (form.format(combine) for form in SIGN_OF_OTHER_FLOATS)
            expected = expected.replace(own, other)
    assert found == expected.split()


@pytest.mark.parametrize("type_", ["f16", "f64"])
@pytest.mark.parametrize("op", FLOAT_UNARY)
def test_float_unary(lower: Fixture, kernel: Fixture, op: str, type_: str) -> None:
    found = elementwise(lower, kernel, f"{op} %a : {type_}", type_, type_)
    assert found == FLOAT_UNARY[op].split()


@pytest.mark.parametrize("type_", ["f16", "f32"])
@pytest.mark.parametrize("op", NARROW_UNARY)
def test_function_of_narrow_floats(lower: Fixture, kernel: Fixture, op: str, type_: str) -> None:
    assert elementwise(lower, kernel, f"{op} %a : {type_}", type_, type_) == [NARROW_UNARY[op]]


@pytest.mark.parametrize("op", EXPANDED_UNARY)
def test_expansion_computes_f16_in_f32(lower: Fixture, kernel: Fixture, op: str) -> None:
    wide = elementwise(lower, kernel, f"{op} %a : f32", "f32", "f32")
    narrow = elementwise(lower, kernel, f"{op} %a : f16", "f16", "f16")
    assert narrow == ["FConvert", *wide, "FConvert"]
    assert 1 < len(wide) < 60


@pytest.mark.parametrize("op", [*NARROW_UNARY, *EXPANDED_UNARY])
def test_f64_is_refused_by_name(lower: Fixture, kernel: Fixture, op: str) -> None:
    with pytest.raises(PassError, match=rf"'{op.removeprefix('math.')}' of f64 does not exist in Vulkan"):
        elementwise(lower, kernel, f"{op} %a : f64", "f64", "f64")


def test_functions_of_several_operands(lower: Fixture, kernel: Fixture) -> None:
    def names(line: str, types: str, result: str) -> list[str]:
        return elementwise(lower, kernel, line, types, result)

    assert names("math.atan2 %a, %b : f32", "f32 f32", "f32") == ["GL.Atan2"]
    assert names("math.fma %a, %b, %c : f64", "f64 f64 f64", "f64") == ["GL.Fma"]
    assert names("math.copysign %a, %b : f32", "f32 f32", "f32") == [
        *("Bitcast", "BitwiseAnd", "Bitcast", "BitwiseAnd", "BitwiseOr", "Bitcast"),
    ]
    assert "GL.Pow" in names("math.powf %a, %b : f32", "f32 f32", "f32")
    with pytest.raises(PassError, match="'atan2' of f64"):
        names("math.atan2 %a, %b : f64", "f64 f64", "f64")
    with pytest.raises(PassError, match="'powf' of f64"):
        names("math.powf %a, %b : f64", "f64 f64", "f64")


@pytest.mark.parametrize(
    ("exponent", "expected"),
    [
        ("2.0", ["FMul"]),
        ("3.0", ["FMul", "FMul"]),
        ("0.5", ["GL.Sqrt"]),
        ("-1.0", ["FDiv"]),
        ("4.0", ["FMul", "FMul"]),
    ],
)
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_power_of_small_constants_needs_no_pow(
    lower: Fixture, kernel: Fixture, exponent: str, expected: list[str], type_: str
) -> None:
    line = f"arith.constant {exponent} : {type_}\n%q = math.powf %a, %r : {type_}"
    load, store = f"memref.load %x[%i] : memref<?x{type_}>", f"memref.store %q, %x[%i] : memref<?x{type_}>"
    body = f"%a = {load}\n%r = {line}\n{store}"
    assert body_of(lower(kernel(body, f"%x : memref<?x{type_}>")).names()) == expected


CMPI = {
    "eq": "IEqual",
    "ne": "INotEqual",
    "slt": "SLessThan",
    "sle": "SLessThanEqual",
    "sgt": "SGreaterThan",
    "sge": "SGreaterThanEqual",
    "ult": "ULessThan",
    "ule": "ULessThanEqual",
    "ugt": "UGreaterThan",
    "uge": "UGreaterThanEqual",
}
CMPF = {
    "false": "",
    "oeq": "FOrdEqual",
    "ogt": "FOrdGreaterThan",
    "oge": "FOrdGreaterThanEqual",
    "olt": "FOrdLessThan",
    "ole": "FOrdLessThanEqual",
    "one": "FOrdNotEqual",
    "ord": "IsNan IsNan LogicalOr LogicalNot",
    "ueq": "FUnordEqual",
    "ugt": "FUnordGreaterThan",
    "uge": "FUnordGreaterThanEqual",
    "ult": "FUnordLessThan",
    "ule": "FUnordLessThanEqual",
    "une": "FUnordNotEqual",
    "uno": "IsNan IsNan LogicalOr",
    "true": "",
}


@pytest.mark.parametrize("predicate", CMPI)
def test_cmpi(lower: Fixture, kernel: Fixture, predicate: str) -> None:
    line = f"arith.cmpi {predicate}, %a, %b : i32\n%s = arith.extui %r : i1 to i8"
    body = (
        "%a = memref.load %x[%i] : memref<?xi32>\n%b = memref.load %y[%i] : memref<?xi32>\n"
        f"%r = {line}\nmemref.store %s, %z[%i] : memref<?xi8>"
    )
    lowered = lower(kernel(body, "%x : memref<?xi32>, %y : memref<?xi32>, %z : memref<?xi8>"))
    assert body_of(lowered.names()) == [CMPI[predicate], "Select"]


@pytest.mark.parametrize("predicate", CMPF)
def test_cmpf(lower: Fixture, kernel: Fixture, predicate: str) -> None:
    body = (
        "%a = memref.load %x[%i] : memref<?xf32>\n%b = memref.load %y[%i] : memref<?xf32>\n"
        f"%r = arith.cmpf {predicate}, %a, %b : f32\n%s = arith.select %r, %a, %b : f32\n"
        "memref.store %s, %x[%i] : memref<?xf32>"
    )
    lowered = lower(kernel(body, "%x : memref<?xf32>, %y : memref<?xf32>"))
    assert body_of(lowered.names()) == [*CMPF[predicate].split(), "Select"]


@pytest.mark.parametrize(
    ("line", "source", "result", "expected"),
    [
        ("arith.extsi %a : i8 to i32", "i8", "i32", "SConvert"),
        ("arith.extui %a : i16 to i64", "i16", "i64", "UConvert"),
        ("arith.trunci %a : i64 to i8", "i64", "i8", "UConvert"),
        ("arith.extf %a : f16 to f32", "f16", "f32", "FConvert"),
        ("arith.truncf %a : f64 to f32", "f64", "f32", "FConvert"),
        ("arith.sitofp %a : i32 to f32", "i32", "f32", "ConvertSToF"),
        ("arith.uitofp %a : i8 to f64", "i8", "f64", "ConvertUToF"),
        ("arith.fptosi %a : f32 to i16", "f32", "i16", "ConvertFToS"),
        ("arith.fptoui %a : f64 to i64", "f64", "i64", "ConvertFToU"),
        ("arith.bitcast %a : f32 to i32", "f32", "i32", "Bitcast"),
        ("arith.bitcast %a : f32 to f32", "f32", "f32", ""),
        ("arith.extf %a : bf16 to f32", "bf16", "f32", "UConvert ShiftLeftLogical Bitcast"),
        (
            "arith.truncf %a : f32 to bf16",
            "f32",
            "bf16",
            "Bitcast ShiftRightLogical BitwiseAnd IAdd IAdd ShiftRightLogical BitwiseOr IsNan Select "
            "UConvert",
        ),
        ("math.absi %a : i32", "i32", "i32", "GL.SAbs"),
        ("math.ctpop %a : i32", "i32", "i32", "BitCount"),
        ("math.ctpop %a : i8", "i8", "i8", "UConvert BitCount UConvert"),
        (
            "math.ctpop %a : i64",
            "i64",
            "i64",
            "UConvert ShiftRightLogical UConvert BitCount BitCount IAdd UConvert",
        ),
        ("math.ctlz %a : i32", "i32", "i32", "GL.FindUMsb ISub"),
        ("math.ctlz %a : i16", "i16", "i16", "UConvert GL.FindUMsb ISub ISub UConvert"),
        ("math.cttz %a : i32", "i32", "i32", "ISub Not BitwiseAnd BitCount"),
        ("math.cttz %a : i8", "i8", "i8", "UConvert BitwiseOr ISub Not BitwiseAnd BitCount UConvert"),
    ],
)
def test_conversion_or_bit_function(
    lower: Fixture, kernel: Fixture, line: str, source: str, result: str, expected: str
) -> None:
    found = elementwise(lower, kernel, line, source, result)
    # Conversions come in any order of emission, the set of operations decides.
    assert sorted(found) == sorted(expected.split())


@pytest.mark.parametrize("op", ["math.ctlz", "math.cttz"])
def test_counts_of_64_bits_take_two_halves(lower: Fixture, kernel: Fixture, op: str) -> None:
    found = elementwise(lower, kernel, f"{op} %a : i64", "i64", "i64")
    assert found.count("UConvert") == 3 and found[-2:] == ["Select", "UConvert"]


def test_index_casts_are_free_in_32_bits(lower: Fixture, kernel: Fixture) -> None:
    body = """
      %n = arith.index_cast %i : index to i32
      %w = arith.index_cast %i : index to i64
      memref.store %n, %x[%i] : memref<?xi32>
      memref.store %w, %y[%i] : memref<?xi64>"""
    names = lower(kernel(body, "%x : memref<?xi32>, %y : memref<?xi64>")).names()
    assert names.count("SConvert") == 1 and "UConvert" not in names


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("arith.addi", "LogicalNotEqual"),
        ("arith.andi", "LogicalAnd"),
        ("arith.ori", "LogicalOr"),
        ("arith.xori", "LogicalNotEqual"),
        ("arith.minsi", "LogicalOr"),
        ("arith.maxui", "LogicalOr"),
        ("arith.cmpi eq,", "LogicalEqual"),
        ("arith.cmpi ne,", "LogicalNotEqual"),
        ("arith.cmpi ult,", "LogicalNot LogicalAnd"),
        ("arith.cmpi sge,", "LogicalNot LogicalOr"),
    ],
)
def test_bools_use_logic(lower: Fixture, kernel: Fixture, op: str, expected: str) -> None:
    body = f"""
      %r = {op} %a, %b : i1
      %s = arith.extsi %r : i1 to i32
      memref.store %s, %x[%i] : memref<?xi32>"""
    names = lower(kernel(body, "%x : memref<?xi32>, %a : i1, %b : i1")).names()
    assert [n for n in names if n.startswith("Logical")] == expected.split()


@pytest.mark.parametrize(
    "op",
    ("divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui", "shli", "shrsi", "shrui"),
)
def test_arithmetic_without_meaning_on_bools_is_refused(lower: Fixture, kernel: Fixture, op: str) -> None:
    body = (
        f"%r = arith.{op} %a, %b : i1\n%s = arith.extui %r : i1 to i8\nmemref.store %s, %x[%i] : memref<?xi8>"
    )
    with pytest.raises(
        PassError, match=rf"'arith.{op}' cannot be lowered to SPIR-V: there is no such arithmetic"
    ):
        lower(kernel(body, "%x : memref<?xi8>, %a : i1, %b : i1"))


def test_arithmetic_on_bf16_is_refused(lower: Fixture, kernel: Fixture) -> None:
    with pytest.raises(PassError, match=r"no arithmetic on bf16; convert with arith\.extf to f32"):
        elementwise(lower, kernel, "arith.addf %a, %b : bf16", "bf16 bf16", "bf16")


def test_unknown_operation_is_refused_with_its_location(lower: Fixture, kernel: Fixture) -> None:
    body = '%a = "memref.get_global"() <{name = @table}> : () -> memref<4xf32> loc("k.py":7:3)'
    with pytest.raises(PassError, match=r"'memref.get_global' cannot be lowered") as caught:
        lower(kernel(body))
    location = caught.value.location
    assert location is not None and (location.file, location.line, location.column) == ("k.py", 7, 3)


@pytest.mark.parametrize(("vulkan", "expected"), [((1, 1), 2), ((1, 3), 1)])
def test_vectors(lower: Fixture, kernel: Fixture, vulkan: tuple[int, int], expected: int) -> None:
    vector = "vector<4xf32>"
    body = f"""
      %s = memref.load %x[%i] : memref<?xf32>
      %v = "spirv.CompositeConstruct"(%s, %s, %s, %s) : (f32, f32, f32, f32) -> {vector}
      %w = arith.mulf %v, %v : {vector}
      %m = "arith.select"(%c, %v, %w) : (i1, {vector}, {vector}) -> {vector}
      %e = math.expm1 %m : {vector}
      %r = "spirv.CompositeExtract"(%e) <{{indices = [2 : i32]}}> : ({vector}) -> f32
      memref.store %r, %x[%i] : memref<?xf32>"""
    names = lower(kernel(body, "%x : memref<?xf32>, %c : i1"), TargetEnv(vulkan_version=vulkan)).names()
    assert "FMul" in names and "GL.Exp" in names
    # Before SPIR-V 1.4 a scalar condition is repeated for every component.
    assert names.count("CompositeConstruct") == expected
