"""Kernel handlers that are handed on to functions of other Python modules, on every device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

NUMBERS = np.arange(8, dtype=np.float32)

LIBRARY = """
FACTOR = lp.SpecializationId(lp.f32, 2.0)
TABLE = lp.SpecializationId(lp.FixedArray[lp.f32, 2], [10.0, 20.0])

def inner(kh: lp.KernelHandler):
    return kh.get_specialization_constant(TABLE)[1]

@lp.external({symbol!r})
def handled(x: lp.f32, kh: lp.KernelHandler, more: lp.f32 = 1.0) -> lp.f32:
    return x * kh.get_specialization_constant(FACTOR) + inner(kh) + more

@lp.kernel
def own(y: lp.Array[lp.f32], kh: lp.KernelHandler):
    i = lp.global_id(0)
    y[i] = handled(y[i], kh)
"""

USER = """
import {library} as library

@lp.kernel
def k(kh: lp.KernelHandler, y: lp.Array[lp.f32]):
    i = lp.global_id(0)
    y[i] = library.handled(y[i], kh) + kh.get_specialization_constant(library.FACTOR)

@lp.kernel
def by_name(y: lp.Array[lp.f32], kh: lp.KernelHandler):
    i = lp.global_id(0)
    y[i] = library.handled(more=0.0, kh=kh, x=y[i])
"""

WRONG = """
import {library} as library

@lp.kernel
def wrong(y: lp.Array[lp.f32]):
    y[0] = library.handled(y[0], 3.0)
"""

MakeModule = Callable[[str], ModuleType]


def launched(kernel: Any, device: lp.Device, values: Mapping[Any, object]) -> list[float]:
    y = lp.asarray(NUMBERS, device=device)
    kernel[y.size].spec(values)(y)
    return y.numpy().tolist()


@pytest.mark.behaviour("SC-07", "SC-33")
def test_a_handler_is_handed_on_to_another_module(device: lp.Device, make_module: MakeModule) -> None:
    library = make_module(LIBRARY.format(symbol=f"handled_{device.selector}"))
    user = make_module(USER.format(library=library.__name__))
    context = lp.Context([device])
    cases: tuple[tuple[dict[Any, object], float, float], ...] = (
        ({}, 2.0, 20.0),
        ({library.FACTOR: 3.0}, 3.0, 20.0),
        ({library.TABLE: [0.0, 5.0], library.FACTOR: 0.5}, 0.5, 5.0),
    )
    for values, factor, more in cases:
        expected = (NUMBERS * factor + more + 1 + factor).tolist()  # exact in f32
        assert launched(user.k, device, values) == expected
        assert launched(user.by_name, device, values) == (NUMBERS * factor + more).tolist()
        assert launched(library.own, device, values) == (NUMBERS * factor + more + 1).tolist()
        source = lp.get_kernel_bundle(context, state=lp.BundleState.INPUT, kernel=user.k)
        parts = lp.get_kernel_bundle(context, state=lp.BundleState.OBJECT, kernel=library.own)
        for constant, value in values.items():
            source.set_specialization_constant(constant, value)
        y = lp.asarray(NUMBERS, device=device)
        with lp.Queue(context=context).submit() as h:
            h.use_kernel_bundle(lp.link([lp.compile(source), parts]))
            h.parallel_for(y.size, user.k, y)
        assert y.numpy().tolist() == expected


def test_nothing_else_stands_for_a_handler(device: lp.Device, make_module: MakeModule) -> None:
    library = make_module(LIBRARY.format(symbol=f"unhandled_{device.selector}"))
    user = make_module(WRONG.format(library=library.__name__))
    with pytest.raises(lp.CompileError, match=r"'kh' of 'handled' is an lp\.KernelHandler"):
        launched(user.wrong, device, {})
