"""``@lp.external`` and ``@lp.extern``: what they accept, what they say, what they become in the IR."""

from __future__ import annotations

import copy
import gc
import importlib
import pickle
import sys
import types
from collections.abc import Callable

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.builder import build_module
from lapilli.frontend.captures import Captures
from lapilli.frontend.externals import EXTERNALS, ExternalFunction
from lapilli.frontend.interpretation import interpret
from lapilli.frontend.linking import link_externals, object_image
from lapilli.ir.target_env import TargetEnv
from lapilli.passes.pipeline import analyse, lower_image
from lapilli.spirv.build_image import build_image
from lapilli.spirv.device_image import DeviceImage

ENV = TargetEnv()
Load = Callable[..., types.ModuleType]


@lp.external
def doubled(x: lp.f32) -> lp.f32:
    return x + x


@lp.extern("far.away")
def far(x: lp.f32, n: lp.i32) -> lp.f32:
    """Defined elsewhere."""


@lp.kernel
def uses_both(y: lp.Array[lp.f32]):
    y[0] = doubled(y[0]) + far(y[0], 2)


def external(function: object) -> ExternalFunction:
    assert isinstance(function, ExternalFunction)
    return function


def test_what_the_decorators_make() -> None:
    made = external(doubled)
    assert (made.symbol, made.unit, made.is_defined) == ("doubled", __name__, True)
    assert str(made.signature) == "(x: f32)"
    assert repr(made.result) == "lp.f32"
    assert (external(far).symbol, external(far).is_defined) == ("far.away", False)
    assert doubled.__name__ == "doubled"
    assert made in EXTERNALS.of_unit(__name__)
    assert EXTERNALS.exporting("far.away") == ()


def test_an_exported_function_runs_on_the_host_and_a_declared_one_does_not() -> None:
    assert doubled(2.0) == 4.0
    with pytest.raises(lp.InvalidError, match=r"'far' is declared with lp\.extern, so it has no body to run"):
        far(1.0, 2)


def test_in_its_own_module_an_exported_function_is_an_ordinary_one() -> None:
    captures = Captures()
    text = str(build_module([uses_both], captures=captures))
    assert 'sym_name = "doubled"' in text or "@doubled(" in text
    assert "@doubled() attributes {aspect.external" not in text
    assert captures.imports == {"far.away": far}
    assert "aspect.external" in text


def test_an_exported_function_is_compiled_alone() -> None:
    compiled = object_image(external(doubled), ENV)
    assert (compiled.image.exports, compiled.image.imports, compiled.image.kernels) == (("doubled",), (), ())
    assert object_image(external(doubled), ENV) is compiled


def compiled(kernel: object) -> tuple[DeviceImage, Captures]:
    captures = Captures()
    (image,) = analyse(build_module([kernel], captures=captures), ENV).images  # type: ignore[list-item]
    return build_image(lower_image(image, ENV), ENV), captures


@pytest.mark.behaviour("CLB-09", "EXT-10")
def test_a_symbol_that_no_module_exports_is_a_link_error() -> None:
    image, captures = compiled(uses_both)
    assert image.imports == ("far.away",)
    with pytest.raises(
        lp.LinkError, match=r"unresolved symbol 'far\.away', called by kernel 'uses_both'"
    ) as caught:
        link_externals(image, captures)
    assert caught.value.errc is lp.Errc.BUILD


@pytest.mark.behaviour("EXT-10")
def test_a_declaration_finds_the_export_of_its_name(load: Load) -> None:
    load("ext_far", '@lp.external("far.away")\ndef f(x: lp.f32, n: lp.i32) -> lp.f32:\n    return x * n\n')
    linked = link_externals(*compiled(uses_both))
    assert (linked.imports, linked.exports) == ((), ())


@pytest.mark.behaviour("CLB-09")
def test_two_exports_of_one_name_are_a_link_error(load: Load) -> None:
    text = '@lp.external("far.away")\ndef f(x: lp.f32, n: lp.i32) -> lp.f32:\n    return x * n\n'
    load("ext_one", text)
    load("ext_two", text)
    with pytest.raises(
        lp.LinkError, match=r"symbol 'far\.away'.* exported twice: by 'ext_one\.f' and by 'ext_two\.f'"
    ):
        link_externals(*compiled(uses_both))


@pytest.mark.behaviour("EXT-10")
def test_what_is_imported_no_more_does_not_clash(load: Load) -> None:
    text = '@lp.external("far.away")\ndef f(x: lp.f32, n: lp.i32) -> lp.f32:\n    return x * n\n'
    gone = load("ext_one", text)
    load("ext_two", text)
    del sys.modules["ext_one"]
    assert link_externals(*compiled(uses_both)).imports == ()
    assert gone.f  # is there, and nobody can import it


@pytest.mark.behaviour("EXT-08")
def test_declarations_of_one_function_add_up() -> None:
    @lp.extern("far.away")
    def plain(x: lp.f32, n: lp.i32) -> lp.f32: ...

    @lp.device_has(lp.Aspect.FP16)
    @lp.extern("far.away")
    def half(x: lp.f32, n: lp.i32) -> lp.f32: ...

    @lp.extern("far.away")
    @lp.device_has(lp.Aspect.FP64)
    def double(x: lp.f32, n: lp.i32) -> lp.f32: ...

    @lp.uses_aspects(lp.Aspect.ATOMIC64)
    @lp.extern("far.away")
    def atomic(x: lp.f32, n: lp.i32) -> lp.f32: ...

    @lp.kernel
    def calls(x: lp.Array[lp.f32]):
        x[0] = plain(x[0], 1) + half(x[0], 2) + double(x[0], 3) + atomic(x[0], 4)

    (image,) = analyse(build_module([calls]), ENV).images
    assert image.requirements.aspects == (lp.Aspect.FP16, lp.Aspect.FP64, lp.Aspect.ATOMIC64)


def test_a_signature_that_does_not_match_is_a_link_error(load: Load) -> None:
    load("ext_int", '@lp.external("far.away")\ndef f(x: lp.i32, n: lp.i32) -> lp.i32:\n    return x * n\n')
    with pytest.raises(
        lp.LinkError, match=r"declared as \(x: f32, n: i32\) -> f32 .* exported as \(x: i32, n: i32\) -> i32"
    ):
        link_externals(*compiled(uses_both))


def test_exports_of_a_module_that_is_gone_are_forgotten(load: Load) -> None:
    module = load("ext_gone", "@lp.external\ndef gone_one(x: lp.f32) -> lp.f32:\n    return x\n")
    assert [f.unit for f in EXTERNALS.exporting("gone_one")] == ["ext_gone"]
    importlib.reload(module)
    gc.collect()
    assert len(EXTERNALS.exporting("gone_one")) == 1
    del sys.modules["ext_gone"], module
    gc.collect()
    assert EXTERNALS.exporting("gone_one") == ()


def test_recursion_across_modules_is_a_link_error(load: Load) -> None:
    load(
        "ext_a",
        '@lp.extern("pong")\ndef pong(x: lp.f32) -> lp.f32: ...\n'
        "@lp.external\ndef ping(x: lp.f32) -> lp.f32:\n    return pong(x)\n",
    )
    b = load(
        "ext_b",
        "import ext_a\n@lp.external\ndef pong(x: lp.f32) -> lp.f32:\n    return ext_a.ping(x)\n"
        "@lp.kernel\ndef k(y: lp.Array[lp.f32]):\n    y[0] = ext_a.ping(y[0])\n",
    )
    with pytest.raises(lp.LinkError, match="recursion"):
        link_externals(*compiled(b.k))


MISTAKES = {
    "array": (
        "LP2080",
        "def f(x: lp.Array[lp.f32]) -> lp.f32:\n    return x[0]",
        "arrays cannot be passed between",
    ),
    "no result annotation": ("LP2010", "def f(x: lp.f32):\n    return x", "has no annotation of its result"),
    "no annotation": ("LP2010", "def f(x) -> lp.f32:\n    return x", "parameter 'x' has no annotation"),
    "variadic": ("LP2013", "def f(*x: lp.f32) -> lp.f32:\n    return x", "takes no"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_signatures_are_checked_at_decoration(load: Load, mistake: str) -> None:
    code, text, message = MISTAKES[mistake]
    with pytest.raises(lp.CompileError, match=message) as caught:
        load("ext_mistake", f"@lp.external\n{text}\n")
    assert caught.value.code == code
    assert caught.value.location is not None
    assert caught.value.location.line == 3


BODIES = {
    "ids": ("LP2082", "return x + lp.global_id(0)", "ids or sizes of the launch"),
    "print": ("LP2082", "print(x)\n    return x", "print, or a helper with assert"),
    "barrier": ("LP2082", "lp.barrier()\n    return x", "barriers, group functions"),
    "array": (
        "LP2082",
        "a = lp.local.array(4, lp.f32)\n    a[0] = x\n    return a[0]",
        "barriers, group functions or shared arrays",
    ),
    "nothing": ("LP2049", "y = x", "returns None; its annotation says f32"),
    "recursion": ("LP2044", "return f(x)", "recursion: f"),
}


@pytest.mark.parametrize("mistake", BODIES)
def test_bodies_are_checked_when_they_are_compiled(load: Load, mistake: str) -> None:
    code, body, message = BODIES[mistake]
    module = load("ext_mistake", f"@lp.external\ndef f(x: lp.f32) -> lp.f32:\n    {body}\n")
    with pytest.raises(lp.CompileError, match=message) as caught:
        object_image(module.f, ENV)
    assert caught.value.code == code


def test_a_declaration_has_no_body(load: Load) -> None:
    with pytest.raises(
        lp.CompileError, match=r"another unit defines it; expected the body '\.\.\.'"
    ) as caught:
        load("ext_body", '@lp.extern("f")\ndef f(x: lp.f32) -> lp.f32:\n    return x\n')
    assert (caught.value.code, caught.value.location and caught.value.location.line) == ("LP2081", 4)


@pytest.mark.parametrize("name", ["", "a\0b", 7, "tab\t"])
def test_symbols_are_printable_text(name: str) -> None:
    with pytest.raises(lp.InvalidError, match="expected the symbol"):
        lp.extern(name)


def test_two_functions_of_one_linker_name_in_one_kernel(load: Load) -> None:
    load("ext_p", "@lp.external\ndef same(x: lp.f32) -> lp.f32:\n    return x\n")
    load("ext_q", "@lp.external\ndef same(x: lp.f32) -> lp.f32:\n    return x\n")
    user = load(
        "ext_r",
        "import ext_p, ext_q\n@lp.kernel\ndef k(y: lp.Array[lp.f32]):\n"
        "    y[0] = ext_p.same(y[0]) + ext_q.same(y[0])\n",
    )
    with pytest.raises(
        lp.LinkError, match="'same' is the linker's name of two functions, of ext_p and of ext_q"
    ) as raised:
        compiled(user.k)
    assert raised.value.code == "LP2900"
    assert raised.value.location is not None and raised.value.location.line == 5


@pytest.mark.behaviour("EXT-10")
def test_the_interpreter_calls_functions_of_other_modules(load: Load) -> None:
    load("ext_v", "@lp.external\ndef inner(x: lp.f32) -> lp.f32:\n    return x + 1.0\n")
    load(
        "ext_w",
        "import ext_v\n@lp.external('interpreted_outer')\ndef outer(x: lp.f32, v: lp.f32x2) -> lp.f32x2:\n"
        "    return v * ext_v.inner(x)\n",
    )
    user = load(
        "ext_x",
        "import ext_w\n@lp.extern('interpreted_outer')\ndef imported(x: lp.f32, v: lp.f32x2) -> lp.f32x2: ...\n"
        "@lp.kernel\ndef k(y: lp.Array[lp.f32]):\n"
        "    v = ext_w.outer(y[0], lp.f32x2(1, 2)) + imported(2, lp.f32x2(10, 20))\n    y[0] = v.x\n    y[1] = v.y\n"
        "@lp.extern('nobody_exports_this')\ndef lost(x: lp.f32) -> lp.f32: ...\n"
        "@lp.kernel\ndef calls_lost(y: lp.Array[lp.f32]):\n    y[0] = lost(y[0])\n",
    )
    y = np.ones(2, np.float32)
    interpret(user.k, 1, (y,))
    assert y.tolist() == [32.0, 64.0]
    with pytest.raises(lp.InvalidError, match="nobody_exports_this"):
        interpret(user.calls_lost, 1, (y,))


def test_kernels_that_mean_two_functions_by_one_name_are_built_apart(load: Load) -> None:
    load("ext_s", "@lp.external\ndef same(x: lp.f32) -> lp.f32:\n    return x + 1.0\n")
    load("ext_t", "@lp.external\ndef same(x: lp.f32) -> lp.f32:\n    return x + 2.0\n")
    user = load(
        "ext_u",
        "import ext_s, ext_t\n"
        "@lp.kernel\ndef a(y: lp.Array[lp.f32]):\n    y[0] = ext_s.same(y[0])\n"
        "@lp.kernel\ndef b(y: lp.Array[lp.f32]):\n    y[0] = ext_t.same(y[0])\n"
        "@lp.kernel\ndef plain(y: lp.Array[lp.f32]):\n    y[0] = 3.0\n",
    )
    for device in lp.devices():
        context, found = lp.Context([device]), []
        for kernel in (user.a, user.b, user.plain):
            bundle = lp.get_kernel_bundle(context, state=lp.BundleState.EXECUTABLE, kernel=kernel)
            y = lp.zeros(1, device=device)
            lp.Queue(device, context=context).parallel_for(1, bundle.get_kernel(kernel), y)
            found.append(y.numpy()[0])
        assert found == [1.0, 2.0, 3.0]


@pytest.mark.behaviour("EXT-08")
@pytest.mark.parametrize("where", ["above", "below"])
def test_declared_aspects_stand_on_the_declaration(load: Load, where: str) -> None:
    lines = ['@lp.extern("f")', "@lp.device_has(lp.Aspect.FP64)"]
    head = "\n".join(lines if where == "below" else lines[::-1])
    module = load(
        f"ext_declared_{where}",
        f"{head}\ndef f(x: lp.f32) -> lp.f32: ...\n"
        "@lp.kernel\ndef k(y: lp.Array[lp.f32]):\n    y[0] = f(y[0])\n",
    )
    image, _ = compiled(module.k)
    assert image.kernel("k").aspects == (lp.Aspect.FP64,)


def test_what_a_declaration_uses_counts(load: Load) -> None:
    module = load(
        "ext_declared_use",
        '@lp.extern("f")\n@lp.uses_aspects(lp.Aspect.FP16)\ndef f(x: lp.f32) -> lp.f32: ...\n'
        "@lp.kernel\ndef k(y: lp.Array[lp.f32]):\n    y[0] = f(y[0])\n",
    )
    image, _ = compiled(module.k)
    assert image.kernel("k").aspects == (lp.Aspect.FP16,)


def test_exported_functions_are_pickled_by_name(load: Load) -> None:
    module = load(
        "ext_pickled",
        '@lp.external\ndef f(x: lp.f32) -> lp.f32:\n    return x\n@lp.extern("g")\ndef g(x: lp.f32) -> lp.f32: ...\n',
    )
    for function in (module.f, module.g):
        assert pickle.loads(pickle.dumps(function)) is function
        assert copy.copy(function) is copy.deepcopy(function) is function
