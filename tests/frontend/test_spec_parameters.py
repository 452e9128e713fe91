"""``lp.Spec`` and ``lp.KernelHandler`` parameters, and local sizes that name them, without a device."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.inspection import inspect
from lapilli.ir.target_env import TargetEnv

COEFF = lp.SpecializationId(lp.f32, 2.0)
WIDTH = lp.SpecializationId(lp.u32, 4)
IDS = (COEFF, WIDTH)


def ir_of(kernel: object) -> str:
    text = inspect(kernel, "ir", env=TargetEnv())  # type: ignore[arg-type]
    assert isinstance(text, str)
    return text


def test_spec_parameter_declares_a_constant_and_is_no_argument() -> None:
    @lp.kernel
    def k(x: lp.Array[lp.f32], *, TILE: lp.Spec[lp.u32] = 16, GAIN: lp.Spec[lp.f32]):
        x[0] = lp.f32(TILE) * GAIN

    assert [p.name for p in k.signature.parameters] == ["x"]
    assert list(k.specialization_ids) == ["TILE", "GAIN"]
    tile = k.specialization_ids["TILE"]
    assert (tile.name, tile.default, tile.type) == ("TILE", 16, lp.u32)
    assert tile.symbol.endswith("<locals>.k.TILE")
    assert k.specialization_ids["GAIN"].default == 0.0
    assert "*, TILE: Spec[u32] = 16" in str(k)


def test_annotations_as_text_work_too() -> None:
    namespace = {"S": lp.Spec}
    k = lp.kernel_from_source(
        "@lp.kernel\ndef k(kh: 'lp.KernelHandler', x: lp.Array[lp.i32], *, N: 'S[lp.i32]' = 3):\n    x[0] = N\n",
        namespace=namespace,
    )
    assert k.specialization_ids["N"].default == 3
    assert k.signature.handlers == ("kh",)


def test_an_unread_constant_is_not_declared() -> None:
    @lp.kernel
    def k(x: lp.Array[lp.i32], *, READ: lp.Spec[lp.i32] = 1, UNREAD: lp.Spec[lp.i32] = 2):
        x[0] = READ

    assert "k.READ" in ir_of(k)
    assert "k.UNREAD" not in ir_of(k)


def test_a_spec_parameter_may_be_assigned_again() -> None:
    @lp.kernel
    def k(x: lp.Array[lp.i32], *, N: lp.Spec[lp.i32] = 1):
        N = N + 1
        x[0] = N

    assert "spec_constant.get" in ir_of(k)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def k(N: lp.Spec[lp.i32] = 1):\n    pass", "'N' must be a keyword-only parameter"),
        ("def k(*, N: lp.Spec = 1):\n    pass", r"expected lp.Spec\[T\]"),
        ("def k(*, N: lp.Spec[lp.Array[lp.f32]]):\n    pass", r"expected lp.Spec\[T\]"),
        ("def k(*, N: lp.Spec[lp.i32, 2] = 1):\n    pass", r"expected lp.Spec\[T\]"),
        ("def k(*, N: lp.Spec[lp.u8] = 256):\n    pass", "expected an integer from 0 to 255, found 256"),
    ],
)
def test_wrong_spec_parameters_are_refused_at_decoration(text: str, message: str) -> None:
    with pytest.raises(lp.CompileError, match=message):
        lp.kernel_from_source(f"@lp.kernel\n{text}\n")


def test_the_constants_of_a_kernel_cannot_be_exchanged() -> None:
    @lp.kernel
    def k(x: lp.Array[lp.f32], *, N: lp.Spec[lp.i32] = 3):
        x[0] = lp.f32(N)

    with pytest.raises(TypeError):
        k.specialization_ids["N"] = 4  # type: ignore[index]
    assert k.specialization_ids["N"].default == 3


def test_spec_is_only_an_annotation() -> None:
    with pytest.raises(lp.InvalidError, match="only an annotation"):
        lp.Spec()


@pytest.mark.behaviour("SC-07")
def test_the_handler_is_refused_on_the_host() -> None:
    with pytest.raises(lp.InvalidError, match="works only inside a kernel") as caught:
        lp.KernelHandler().get_specialization_constant(COEFF)
    assert caught.value.errc is lp.Errc.INVALID


class Scope:
    COEFF = lp.SpecializationId(lp.f32, 3.0)


def test_handler_reads_ids_by_every_spelling() -> None:
    @lp.kernel
    def k(x: lp.Array[lp.f32], kh: lp.KernelHandler, *, OWN: lp.Spec[lp.f32] = 1):
        x[0] = kh.get_specialization_constant(COEFF)
        x[1] = kh.get_specialization_constant(Scope.COEFF)
        x[2] = lp.f32(kh.get_specialization_constant(IDS[1]))
        x[3] = kh.get_specialization_constant(OWN)

    text = ir_of(k)
    for symbol in (COEFF.symbol, Scope.COEFF.symbol, WIDTH.symbol, "k.OWN"):
        assert symbol in text


@pytest.mark.parametrize("argument", ["1", "x[0]", "y", "COEFF + 1", "float"])
def test_handler_refuses_what_is_no_id(argument: str) -> None:
    source = (
        "@lp.kernel\ndef k(kh: lp.KernelHandler, x: lp.Array[lp.f32]):\n    y = COEFF\n"
        f"    x[0] = kh.get_specialization_constant({argument})\n"
    )
    k = lp.kernel_from_source(source, namespace={"COEFF": COEFF})
    with pytest.raises(lp.CompileError, match="takes a specialization id by its name"):
        ir_of(k)


@pytest.mark.parametrize("call", ["kh.get_specialization_constant()", "kh.get_specialization_constant(A, A)"])
def test_handler_takes_one_id(call: str) -> None:
    k = lp.kernel_from_source(
        f"@lp.kernel\ndef k(kh: lp.KernelHandler, x: lp.Array[lp.f32]):\n    x[0] = {call}\n",
        namespace={"A": COEFF},
    )
    with pytest.raises(lp.CompileError, match="one specialization id"):
        ir_of(k)


@pytest.mark.behaviour("SC-06")
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("for i in lp.static_range(WIDTH):\n        x[i] = 1.0", "specialization constant|literals"),
        ("x[0] = TUPLE[WIDTH]", "must be known when the kernel is compiled"),
        ("x[0] = TUPLE[kh.get_specialization_constant(WIDTH)]", "must be known when the kernel is compiled"),
    ],
)
def test_a_constant_is_no_python_constant(body: str, message: str) -> None:
    k = lp.kernel_from_source(
        f"@lp.kernel\ndef k(x: lp.Array[lp.f32], kh: lp.KernelHandler):\n    {body}\n",
        namespace={"WIDTH": WIDTH, "TUPLE": (1.0, 2.0, 3.0)},
    )
    with pytest.raises(lp.CompileError, match=message):
        ir_of(k)


@pytest.mark.behaviour("SC-04")
def test_a_constant_may_be_defined_after_the_kernel() -> None:
    @lp.kernel
    def early(x: lp.Array[lp.i32]):
        x[0] = DEFINED_BELOW

    DEFINED_BELOW = lp.SpecializationId(lp.i32, 9)
    assert DEFINED_BELOW.symbol in ir_of(early)


# Local sizes


def sizes(kernel: object, **values: int) -> tuple[int, ...]:
    ids = kernel.specialization_ids  # type: ignore[attr-defined]
    packed = {ids[name].symbol: ids[name].to_bytes(value) for name, value in values.items()}
    return kernel.local_size.sizes(packed, "k")  # type: ignore[attr-defined]


def test_local_size_of_names_expressions_and_ids() -> None:
    FACTOR = 3

    @lp.kernel(local_size=("TILE", "max(2, TILE // 4) * FACTOR - (TILE % 2)", WIDTH))
    def k(x: lp.Array[lp.f32, 3], *, TILE: lp.Spec[lp.u32] = 16):
        pass

    assert sizes(k) == (16, 4 * FACTOR, 4)
    assert sizes(k, TILE=5) == (5, 2 * FACTOR - 1, 4)


@pytest.mark.parametrize(
    ("local_size", "message"),
    [
        ("TILEE", "names 'TILEE'.*lp.Spec parameters are: TILE"),
        ("TILE + 1.5", "expected integers"),
        ("__import__('os')", "expected integers"),
        ("TILE.x", "expected integers"),
        ("", "expected integers"),
        (("1" + "+1" * 400), "expected integers"),
        ("GAIN", "has type lp.f32; expected an integer type"),
        (("TILE",) * 4, "1 to 3 dimensions"),
    ],
)
def test_wrong_local_sizes_are_refused_at_decoration(local_size: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):

        @lp.kernel(local_size=local_size)  # type: ignore[call-overload]
        def k(x: lp.Array[lp.f32], *, TILE: lp.Spec[lp.u32] = 16, GAIN: lp.Spec[lp.f32] = 1):
            pass


def test_a_derived_size_below_one_names_expression_value_and_constant() -> None:
    @lp.kernel(local_size="TILE - 16")
    def k(x: lp.Array[lp.f32], *, TILE: lp.Spec[lp.i32] = 16):
        pass

    with pytest.raises(lp.InvalidError, match="local size TILE - 16 is 0, expected at least 1; TILE = 16"):
        sizes(k)


def test_a_division_by_zero_is_diagnosed() -> None:
    @lp.kernel(local_size="8 // TILE")
    def k(x: lp.Array[lp.f32], *, TILE: lp.Spec[lp.i32] = 1):
        pass

    with pytest.raises(lp.InvalidError, match="divides by zero; TILE = 0"):
        sizes(k, TILE=0)


def test_struct_and_array_defaults() -> None:
    @lp.struct
    class Pair:
        a: lp.f32 = 1.5
        b: lp.i32

    @lp.kernel
    def k(x: lp.Array[lp.f32], *, PAIR: lp.Spec[Pair], ROW: lp.Spec[lp.FixedArray[lp.f32, 3]] = 2):
        x[0] = PAIR.a + ROW[1]

    assert k.specialization_ids["PAIR"].default == Pair(1.5, 0)
    np.testing.assert_array_equal(k.specialization_ids["ROW"].default, np.float32([2, 2, 2]))
