"""Kernels whose parameters are of every kind at once: arguments, constants of the code, specialization constants,
handlers, shared memory and work-items; launched directly, from bundles, in groups, linked and interpreted.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import lapilli as lp

GROUP = 8
TABLE = np.array([1, 10, 100, 1000], np.int32)
PAIR = lp.Vec[lp.i32, 2](3, 4)

LIBRARY = """
@lp.external("together_weighed")
def weighed(value: lp.i32, weight: lp.i32) -> lp.i32:
    return value * weight
"""

KERNELS = """
import numpy as np

{options}
{library}
GROUP = 8
SHIFT = lp.SpecializationId(lp.i32, 5)
TABLE = np.array([1, 10, 100, 1000], np.int32)


@lp.kernel(local_size=GROUP)
def every_kind(
    it: lp.NdItem[1],
    kh: lp.KernelHandler,
    x: lp.In[lp.i32],
    tile: lp.LocalArray[lp.i32, 2],
    bias: lp.i32,
    pair: lp.Vec[lp.i32, 2],
    out: lp.Out[lp.i32],
    power: lp.Const[lp.i32] = 1,
    *,
    scale: lp.Spec[lp.i32] = 3,
):
    lane = it.get_local_id(0)
    tile[1, lane] = x[it.get_global_id(0)]
    lp.barrier()
    total = tile[1, GROUP - 1 - lane] * scale + bias + pair[0] * pair[1]
    shifted = weighed(total, TABLE[power]) + kh.get_specialization_constant(SHIFT)
    out[it.get_global_id(0)] = shifted + tile.shape[1]
"""

WITHOUT_DEFAULT = """
@lp.kernel
def needs_value(out: lp.Out[lp.i32], n: lp.Const[lp.i32]):
    out[lp.global_id(0)] = n


@lp.kernel
def needs_none(out: lp.Out[lp.i32]):
    out[lp.global_id(0)] = 3
"""


def expected(x, *, width, bias=2, power=1, scale=3, shift=5):
    turned = x.reshape(-1, GROUP)[:, ::-1].reshape(-1)
    return (turned * scale + bias + 3 * 4) * TABLE[power] + shift + width


@pytest.fixture
def make_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Imports modules by name and text."""
    monkeypatch.syspath_prepend(tmp_path)
    names: list[str] = []

    def make(name: str, text: str) -> ModuleType:
        names.append(name)
        (tmp_path / f"{name}.py").write_text(f"import lapilli as lp\n{text}", "utf-8")
        importlib.invalidate_caches()
        return importlib.import_module(name)

    yield make
    for name in names:
        sys.modules.pop(name, None)


@pytest.fixture(params=["native", "emulated"])
def module(request, make_module):
    """The kernels' module; the function that they call is in another, so that it is linked."""
    make_module("together_library", LIBRARY)
    options = f"lp.compile_options(spec_constants={request.param!r})"
    return make_module(
        "together_kernels", KERNELS.format(options=options, library="from together_library import weighed")
    )


@pytest.fixture
def data(device):
    x = np.arange(4 * GROUP, dtype=np.int32)
    return x, lp.asarray(x, device=device), lp.zeros(len(x), lp.i32, device=device)


def test_a_launch_gives_each_kind_its_value(module, data):
    x, xs, out = data
    module.every_kind[len(x)](xs, lp.local((2, GROUP)), 2, PAIR, out)
    np.testing.assert_array_equal(out.numpy(), expected(x, width=GROUP))
    launch = module.every_kind[len(x)].spec({module.SHIFT: 7})
    launch(xs, lp.local((3, 11)), bias=-1, pair=PAIR, out=out, power=2, scale=-4)
    wanted = expected(x, width=11, bias=-1, power=2, scale=-4, shift=7)
    np.testing.assert_array_equal(out.numpy(), wanted)


def test_a_command_group_launches_it(module, data, device):
    x, xs, out = data

    def group(h):
        h.set_specialization_constant(module.SHIFT, 9)
        h.set_arg("power", 3)
        h.parallel_for(len(x), module.every_kind, xs, lp.local((2, 9)), 2, PAIR, out, scale=2)

    device.default_queue.submit(group).wait()
    np.testing.assert_array_equal(out.numpy(), expected(x, width=9, power=3, scale=2, shift=9))


@pytest.mark.native_only("the interpreter makes no pipelines")
def test_a_bundle_has_the_defaults_and_makes_pipelines_for_new_shapes(module, data, device):
    x, xs, out = data
    context = lp.Context(device)
    bundle = lp.get_kernel_bundle(context, state=lp.BundleState.INPUT, kernel_ids=[module.every_kind])
    bundle.set_specialization_constant(module.SHIFT, 11)
    built = lp.build(bundle)

    def launch(width, **more):
        with lp.Queue(context=context).submit() as h:
            h.use_kernel_bundle(built)
            h.parallel_for(len(x), module.every_kind, xs, lp.local((2, width)), 2, pair=PAIR, out=out, **more)

    for width in (GROUP, 12):
        launch(width)
        np.testing.assert_array_equal(out.numpy(), expected(x, width=width, shift=11))
    launch(GROUP, power=1)
    with pytest.raises(lp.KernelArgumentError, match=r"defaults of lp\.Const .*'power' = 1, found 2"):
        launch(GROUP, power=2)


def test_the_interpreter_gives_the_same(make_module, data):
    module = make_module("together_kernels", KERNELS.format(options="", library=LIBRARY))
    x, xs, out = data
    with lp.config.override(interpret=True):
        launch = module.every_kind[len(x)].spec({module.SHIFT: 7})
        launch(xs, lp.local((2, 10)), 2, PAIR, out, power=2, scale=2)
    np.testing.assert_array_equal(out.numpy(), expected(x, width=10, power=2, scale=2, shift=7))


def test_a_bundle_cannot_have_a_constant_without_default(make_module, device):
    module = make_module("together_without", WITHOUT_DEFAULT)
    context, state = lp.Context(device), lp.BundleState.INPUT
    bundle = lp.get_kernel_bundle(context, state=state, kernel_ids=[module.needs_value])
    with pytest.raises(lp.InvalidError, match="its code depends on the value of 'n'"):
        lp.build(bundle)
    other = lp.get_kernel_bundle(context, state=state, kernel_ids=[module.needs_none])
    assert lp.build(other).has_kernel(module.needs_none)
    out = lp.zeros(2, lp.i32, device=device)
    module.needs_value[2](out, 7)
    assert out.numpy().tolist() == [7, 7]
