"""Functions of other modules that are declared with other types than they are exported with."""

from __future__ import annotations

import types
from collections.abc import Callable

import pytest

import lapilli as lp

Load = Callable[..., types.ModuleType]


@pytest.mark.behaviour("EXT-10")
def test_other_types_than_declared_are_refused_as_the_source_spells_them(
    device: lp.Device, load: Load
) -> None:
    """SPIR-V does not tell i32 from u32: without looking, `third(-9)` would be 1431655762."""
    library = load(
        "ext_signs",
        "@lp.external\ndef third(x: lp.u32) -> lp.u32:\n    return x // 3\n"
        "@lp.kernel\ndef own(y: lp.Array[lp.i32]):\n    y[0] = 1\n",
    )
    user = load(
        "ext_signs_user",
        "@lp.extern('third')\ndef third(x: lp.i32) -> lp.i32: ...\n"
        "@lp.kernel\ndef k(y: lp.Array[lp.i32]):\n    y[0] = third(y[0])\n",
    )
    message = (
        r"symbol 'third' is declared as \(x: i32\) -> i32 by 'ext_signs_user\.third' and exported as "
        r"\(x: u32\) -> u32 by 'ext_signs\.third'; expected the same types"
    )
    context = lp.Context([device])

    def objects():
        return [
            lp.get_kernel_bundle(context, state=lp.BundleState.OBJECT, kernel=kernel)
            for kernel in (user.k, library.own)
        ]

    for call in (
        lambda: user.k[1](lp.full(1, -9, lp.i32, device=device)),
        lambda: lp.get_kernel_bundle(context, state=lp.BundleState.EXECUTABLE, kernel=user.k),
        lambda: lp.link(objects()),
    ):
        with pytest.raises(lp.LinkError, match=message):
            call()


@pytest.mark.parametrize("is_interpreted", [False, True], ids=["linked", "interpreted"])
def test_a_declaration_s_names_defaults_and_structs_count_where_it_is_called(
    device: lp.Device, load: Load, is_interpreted: bool
) -> None:
    load(
        "ext_names",
        "@lp.struct\nclass P:\n    a: lp.i32\n    b: lp.i32\n"
        "@lp.external\ndef less(v: lp.i32, w: lp.i32 = 3) -> P:\n    return P(v - w, w)\n"
        "@lp.external\ndef product(p: P) -> lp.i32:\n    return p.a * p.b\n",
    )
    user = load(
        "ext_names_user",
        "@lp.struct\nclass Pair:\n    first: lp.i32\n    second: lp.i32\n"
        "@lp.extern('less')\ndef less(w: lp.i32, v: lp.i32 = 10) -> Pair: ...\n"
        "@lp.extern('product')\ndef product(p: Pair) -> lp.i32: ...\n"
        "@lp.kernel\ndef k(y: lp.Array[lp.i32]):\n"
        "    y[0] = less(1).first\n    y[1] = less(v=100, w=1).second\n    y[2] = product(Pair(6, 7))\n",
    )
    y = lp.zeros(3, lp.i32, device=device)
    with lp.config.override(interpret=is_interpreted):
        user.k[1](y)
    assert y.numpy().tolist() == [1 - 10, 100, 42]
