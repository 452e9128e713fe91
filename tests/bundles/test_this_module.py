"""lp.this_module: the kernels of the calling Python module."""

from __future__ import annotations

import types

import pytest

import lapilli as lp

from . import other_kernels

pytestmark = pytest.mark.device

INPUT, OBJECT, EXECUTABLE = lp.BundleState.INPUT, lp.BundleState.OBJECT, lp.BundleState.EXECUTABLE
STATES = (INPUT, OBJECT, EXECUTABLE)


@lp.kernel
def first(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = 1.0


@lp.kernel
def second(x: lp.Array[lp.f64]):
    x[lp.global_id(0)] = 1.0


@pytest.mark.behaviour("IMG-09", "IMG-13")
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.name)
def test_it_has_the_kernels_of_the_calling_module(device, context, state):
    bundle = lp.this_module.get(context, state)
    assert bundle.state is state and bundle.context is context
    expected = {first.kernel_id, *([second.kernel_id] if device.has(lp.Aspect.FP64) else [])}
    assert set(bundle.kernel_ids) == expected
    assert not bundle.has_kernel(other_kernels.scaled)


@pytest.mark.behaviour("IMG-10", "IMG-11")
def test_what_is_said_to_be_there_can_be_had(device, context):
    masked = lp.Context([device.masked(without=[lp.Aspect.ONLINE_COMPILER])])
    assert lp.this_module.has_any_module(context) and lp.this_module.has_any_module(masked)
    for ctx in (context, masked):
        for state in STATES:
            if lp.this_module.has_module_in(ctx, state):
                assert not lp.this_module.get(ctx, state).empty()
            else:
                with pytest.raises(lp.InvalidError, match=r"this_module\.get"):
                    lp.this_module.get(ctx, state)
    assert not lp.this_module.has_module_in(masked, INPUT)


@pytest.mark.behaviour("IMG-10")
def test_no_module_is_in_state_source(context):
    assert lp.this_module.has_module_in(context, lp.BundleState.SOURCE) is False
    with pytest.raises(lp.InvalidError, match="have no state SOURCE"):
        lp.this_module.get(context, lp.BundleState.SOURCE)
    with pytest.raises(TypeError):
        lp.this_module.has_module_in(None, lp.BundleState.SOURCE)  # type: ignore[arg-type]


@pytest.mark.behaviour("IMG-10", "IMG-11")
def test_a_module_that_only_exports_functions_has_nothing_executable(context, make_module):
    unit = make_module(
        '@lp.external("only_exported")\ndef f(x: lp.f32) -> lp.f32:\n    return x\n'
        "def any_(context): return lp.this_module.has_any_module(context)\n"
        "def in_(context, state): return lp.this_module.has_module_in(context, state)\n"
        "def get(context, state): return lp.this_module.get(context, state)\n"
    )
    assert unit.any_(context)
    for state in (INPUT, OBJECT):
        assert unit.in_(context, state) and len(unit.get(context, state)) == 1
        assert unit.get(context, state).kernel_ids == ()
    assert not unit.in_(context, EXECUTABLE)
    with pytest.raises(lp.InvalidError, match="no kernel in state EXECUTABLE"):
        unit.get(context, EXECUTABLE)


@pytest.mark.behaviour("IMG-10", "IMG-11")
def test_a_module_without_kernels(context):
    module = types.ModuleType("without_kernels")
    module.lp, module.context = lp, context  # type: ignore[attr-defined]
    exec(
        "def any_(): return lp.this_module.has_any_module(context)\n"
        "def in_(state): return lp.this_module.has_module_in(context, state)\n"
        "def get(state): return lp.this_module.get(context, state)\n",
        module.__dict__,
    )
    assert not module.any_()
    for state in STATES:
        assert not module.in_(state)
        with pytest.raises(lp.InvalidError, match="without_kernels"):
            module.get(state)
