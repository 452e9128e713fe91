"""What linked functions need of a device counts for the kernels that call them, and for no others that could run."""

from __future__ import annotations

import pytest

import lapilli as lp

pytestmark = [pytest.mark.device, pytest.mark.filterwarnings("ignore::lapilli.AspectWarning")]

INPUT, OBJECT, EXECUTABLE = lp.BundleState.INPUT, lp.BundleState.OBJECT, lp.BundleState.EXECUTABLE

LIBRARY = """
@lp.external({name!r})
{declared}
def halved(x: lp.f32) -> lp.f32:
    return lp.f32(lp.f64(x) * lp.f64(0.5))
@lp.kernel
def own(x: lp.Array[lp.f32]): x[lp.global_id(0)] = 1.0
"""
USER = """
import {library} as library
@lp.kernel
def calls(x: lp.Array[lp.f32]): x[lp.global_id(0)] = library.halved(7.0)
@lp.kernel
def innocent(x: lp.Array[lp.f32]): x[lp.global_id(0)] = 2.0
"""


@pytest.fixture
def units(device, make_module):
    """Makes a library that needs doubles, saying so or not, and its user."""

    def make(name: str, declared: str = ""):
        library = make_module(LIBRARY.format(name=f"{name}_{device.selector}", declared=declared))
        return library, make_module(USER.format(library=library.__name__))

    return make


def launched(kernel, device):
    x = lp.zeros(2, device=device)
    kernel[2](x)
    return x.numpy().tolist()


@pytest.mark.behaviour("KB-06", "CLB-02", "GKB-14")
def test_a_linked_image_that_no_device_runs_is_left_out(device, lesser, units):
    library, user = units("linked_needs")
    context = lp.Context([lesser])
    for arguments in ({"kernel": user.calls}, {"kernel_ids": [library.own, user.calls]}):
        with pytest.raises(lp.InvalidError, match="fp64") as caught:
            lp.get_kernel_bundle(context, state=EXECUTABLE, **arguments)
        assert caught.value.errc is lp.Errc.INVALID
    built = lp.build(lp.get_kernel_bundle(context, state=INPUT, kernel=user.calls))
    assert built.empty()
    for bundle in (built, lp.join([built, built])):
        with pytest.raises(lp.KernelNotSupportedError, match="fp64"):
            bundle.get_kernel(user.calls)
        refused = pytest.raises(lp.KernelNotSupportedError, match="fp64")
        with refused as caught, lp.Queue(context=context).submit() as h:
            h.use_kernel_bundle(bundle)
            h.parallel_for(2, user.calls, lp.zeros(2, device=lesser))
        assert caught.value.errc is lp.Errc.KERNEL_NOT_SUPPORTED


@pytest.mark.behaviour("ISC-02", "HKB-01", "RT-07")
def test_what_linked_functions_need_is_known_before_they_are_linked(device, lesser, units):
    library, user = units("linked_queries")
    for kernel, expected in ((user.calls, False), (user.innocent, True), (library.own, True)):
        assert lp.is_compatible(kernel=kernel, dev=lesser) is expected
        found = [
            lp.has_kernel_bundle(lp.Context([lesser]), state=s, kernel=kernel) for s in (INPUT, EXECUTABLE)
        ]
        assert found == [True, expected]
    if device.has(lp.Aspect.FP64):
        assert lp.is_compatible(kernel=user.calls, dev=device)
        context = lp.Context([device, lesser])
        assert lp.has_kernel_bundle(context, state=EXECUTABLE, kernel=user.calls)
        assert not lp.has_kernel_bundle(context, [lesser], state=EXECUTABLE, kernel=user.calls)


@pytest.mark.behaviour("CLB-02", "KB-07")
def test_a_linked_image_is_for_the_devices_that_have_what_it_calls(device, lesser, pair, units):
    library, user = units("linked_pair")
    objects = [lp.get_kernel_bundle(pair, state=OBJECT, kernel=k) for k in (user.calls, library.own)]
    if not device.has(lp.Aspect.FP64):  # the function was left out
        with pytest.raises(lp.LinkError, match="linked_pair"):
            lp.link(objects)
        return
    linked = lp.link(objects)
    assert linked.has_kernel(user.calls, device) and not linked.has_kernel(user.calls, lesser)
    x = lp.zeros(2, device=device)
    lp.Queue(device, context=pair).parallel_for(2, linked.get_kernel(user.calls), x)
    assert x.numpy().tolist() == [3.5, 3.5]
    with pytest.raises(lp.KernelNotSupportedError, match="the linked function 'linked_pair"):
        lp.Queue(lesser, context=pair).parallel_for(
            2, linked.get_kernel(user.calls), lp.zeros(2, device=lesser)
        )


@pytest.mark.behaviour("KB-08")
def test_a_function_that_says_what_it_needs_keeps_its_callers_apart(lesser, units):
    _, user = units("linked_says", "@lp.device_has(lp.Aspect.FP64)")
    context = lp.Context([lesser])
    assert not lp.is_compatible([user.calls], lesser) and lp.is_compatible([user.innocent], lesser)
    bundle = lp.get_kernel_bundle(context, state=EXECUTABLE, kernel=user.innocent)
    assert bundle.kernel_ids == (user.innocent.kernel_id,)


def test_a_bundle_takes_nothing_from_launches_without_one(lesser, units):
    library, user = units("linked_plain")
    bundles = [lp.get_kernel_bundle(lp.Context([lesser]), state=OBJECT, kernel=user.innocent)]
    assert launched(user.innocent, lesser) == [2.0, 2.0]
    with pytest.raises(lp.KernelNotSupportedError, match="fp64"):
        launched(user.calls, lesser)
    assert bundles[0].has_kernel(user.innocent) and launched(library.own, lesser) == [1.0, 1.0]


@pytest.mark.behaviour("KB-07")
def test_the_launch_tells_what_the_device_lacks(device, lesser, pair, make_module):
    if not device.has(lp.Aspect.FP64):
        pytest.skip("the device has no fp64")
    kernel = make_module("@lp.kernel\ndef k(x: lp.Array[lp.f64]): x[lp.global_id(0)] = 1.0\n").k
    bundle = lp.get_kernel_bundle(pair, state=EXECUTABLE, kernel=kernel)
    expected = "Kernel uses optional feature corresponding to 'aspect::fp64' but device does not support"
    with (
        pytest.raises(lp.KernelNotSupportedError, match=expected),
        lp.Queue(lesser, context=pair).submit() as h,
    ):
        h.use_kernel_bundle(bundle)
        h.parallel_for(1, kernel, lp.zeros(1, lp.f64, device=lesser))
