"""``help(lp.global_id)``: each function of the kernel language says its signature and meaning."""

from __future__ import annotations

import ast
import pydoc
from pathlib import Path

import pytest

import lapilli as lp
from lapilli.frontend.intrinsic_texts import TEXTS
from lapilli.frontend.intrinsics import PUBLIC_INTRINSICS, Intrinsic, Namespace
from lapilli.ir.target_env import OPTIMISATION_PASSES

STUBS = Path(lp.__file__).with_name("__init__.pyi")
CLASSES = {
    "_Atomic": ("atomic",),
    "_Group": ("group", "sub_group"),
    "_SubGroup": ("sub_group",),
    "_Math": ("math",),
    "_PrivateMemory": ("local", "private"),
}


def functions():
    for value in PUBLIC_INTRINSICS.values():
        for member in [getattr(value, n) for n in dir(value)] if isinstance(value, Namespace) else [value]:
            if isinstance(member, Intrinsic):
                yield member


def names_in_stubs():
    """The parameters' names of each function in the stubs; of overloads those of the last."""
    found = {}
    for node in ast.parse(STUBS.read_text(encoding="utf-8")).body:
        prefixes = CLASSES.get(node.name, ()) if isinstance(node, ast.ClassDef) else ("",)
        for function in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(function, ast.FunctionDef):
                parameters = function.args
                names = [a.arg for a in (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs)]
                for prefix in prefixes:
                    name = f"{prefix}.{function.name}" if prefix else function.name
                    found[name] = [n for n in names if n != "self"]
    return found


def test_every_function_says_what_the_stubs_say():
    wanted = names_in_stubs()
    for function in functions():
        signature, meaning = TEXTS[function.name]
        short = signature.partition("(")[0].rpartition(".")[2] + "(" + signature.partition("(")[2]
        found = ast.parse(f"def {short.replace('…', '...')}: ...").body[0].args
        names = [a.arg for a in (*found.posonlyargs, *found.args, *found.kwonlyargs)]
        assert names == wanted[function.name], signature
        assert meaning.endswith(".") and len(meaning) > 20
    assert {function.name for function in functions()} == TEXTS.keys()


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        (lp.global_id, "lp.global_id(dimension=0)"),
        (lp.math.sin, "The sine of an angle in radians."),
        (lp.atomic, "compare_exchange"),
        (lp.local, "lp.local(shape)"),
        (lp.Array, "lp.asarray(numpy_array)"),
        (lp.kernel, "local_size"),
        (lp.f32, "floating-point number of 32 bits"),
        (lp.i8, "-128 to 127"),
        (lp.bool_, "lp.bool_(value)"),
        (lp.bf16, "ml_dtypes"),
        (lp.u16x3, "A vector of 3 u16s, 6 bytes"),
        (lp.f32x1, "A vector of 1 f32, 4 bytes"),
        *((lp.compile_options, f'"{name}"') for name in OPTIMISATION_PASSES),
    ],
)
def test_help_shows_it(thing, text):
    assert text in pydoc.plain(pydoc.render_doc(thing))
