"""What newcomers write around kernels: the error says what to write instead."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import lapilli as lp


@lp.kernel
def idle(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = 1.0


@pytest.mark.parametrize(
    ("slip", "instead"),
    [
        (lambda: lp.device_has("fp64")(idle), r"found 'fp64'; write lp\.Aspect\.FP64"),
        (lambda: lp.device_has([lp.Aspect.FP64])(idle), r"write them one by one: @lp\.device_has\(a, b\)"),
        (lambda: lp.device_has(idle), r"write @lp\.device_has\(lp\.Aspect\.FP64\)"),
        (lambda: lp.reqd_work_group_size((8, 8))(idle), r"one by one: @lp\.reqd_work_group_size\(a, b\)"),
        (lambda: lp.kernel(64), r"options have names: @lp\.kernel\(local_size=64\)"),
        (lambda: lp.is_compatible(idle), r"write a list of one, \[kernel\]"),
    ],
)
def test_what_to_write_instead(slip: Callable[[], object], instead: str):
    with pytest.raises(lp.Error, match=instead):
        slip()


@pytest.mark.device
def test_a_device_in_place_of_its_context(lapilli_device: lp.Device):
    with pytest.raises(lp.Error, match=r"takes an lp\.Context first.*device\.default_context"):
        lp.get_kernel_bundle(lapilli_device, state=lp.BundleState.INPUT)


@pytest.mark.device
def test_an_array_in_place_of_an_event(lapilli_device: lp.Device):
    x = lp.zeros(4, device=lapilli_device)
    with pytest.raises(lp.InvalidError, match=r"depends_on expects lp\.Event objects, found <lapilli\.Array"):
        lapilli_device.default_queue.submit(lambda h: h.depends_on(x))


def test_a_struct_that_has_changed_since_the_kernel_was_defined(lapilli_device: lp.Device):
    @lp.struct
    class Point:
        x: lp.f32

    @lp.kernel
    def move(points: lp.Array[Point]):
        points[0].x += 1.0

    @lp.struct
    class Point:  # noqa: F811 - as a notebook's cell that runs again
        x: lp.f32
        y: lp.f32

    with pytest.raises(lp.KernelArgumentError, match="define it anew where the class has changed"):
        move[1](lp.zeros(1, Point, device=lapilli_device))
