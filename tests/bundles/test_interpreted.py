"""Kernels of bundles under ``lp.config.interpret``: the function is interpreted, with the bundle's constants."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

FACTOR = lp.SpecializationId(lp.f32, 2.0)


@lp.kernel
def scaled(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = FACTOR * x[i]


@lp.kernel(local_size=4)
def reverse(x: lp.In[lp.f32], y: lp.Out[lp.f32]):
    tile = lp.local.array(4, lp.f32)
    i = lp.local_id(0)
    tile[i] = x[lp.global_id(0)]
    y[lp.global_id(0)] = tile[3 - i]  # a barrier is missing


def _built(context: lp.Context, value: float) -> lp.KernelBundle:
    ids = [lp.get_kernel_id(scaled), lp.get_kernel_id(reverse)]
    bundle = lp.get_kernel_bundle(context, kernel_ids=ids, state=lp.BundleState.INPUT)
    bundle.set_specialization_constant(FACTOR, value)
    return lp.build(bundle)


def test_the_interpreter_runs_them(device) -> None:
    context = lp.Context([device])
    bundle, queue = _built(context, 5.0), lp.Queue(device, context=context)
    x, y = lp.ones(8, device=device), lp.zeros(8, device=device)

    def group(handler: lp.Handler) -> None:
        handler.use_kernel_bundle(bundle)
        handler.parallel_for(lp.NdRange(8, 4), scaled, x)

    with lp.config.override(interpret=True):
        queue.parallel_for(8, bundle.get_kernel(scaled), x).wait()
        queue.submit(group).wait()
        with pytest.raises(lp.KernelTrap, match="data race") as raised:  # which no device tells
            queue.parallel_for(8, bundle.get_kernel(reverse), x, y)
    assert raised.value.code == "LP4112"
    np.testing.assert_array_equal(x.numpy(), np.full(8, 25, np.float32))


TEXT = """
import lapilli as lp

@lp.kernel
def fill(x: lp.Out[lp.f32]):
    x[lp.global_id(0)] = 3.0
"""


def test_those_without_a_function_are_refused(device) -> None:
    context = lp.Context([device])
    source = lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.PYTHON, TEXT)
    kernel, queue = lp.build(source).ext_oneapi_get_kernel("fill"), lp.Queue(device, context=context)
    x = lp.zeros(2, device=device)
    with lp.config.override(interpret=True):
        with pytest.raises(lp.InvalidError, match="kernel 'fill' cannot be interpreted"):
            queue.parallel_for(2, kernel, x)
        with lp.config.override(interpret=False):
            queue.parallel_for(2, kernel, x).wait()
    np.testing.assert_array_equal(x.numpy(), np.full(2, 3, np.float32))
