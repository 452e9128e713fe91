"""copy, deepcopy and pickle of what users hold: the object itself, another one, or an error that says why."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime.device import Device

pytestmark = pytest.mark.device


@lp.kernel
def increment(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] += 1.0


def recorded(device: lp.Device) -> lp.Graph:
    with lp.graph() as graph:
        increment[4](lp.zeros(4, device=device))
    return graph


MAKERS: dict[str, Callable[[lp.Device], Any]] = {
    "profile": lambda device: lp.profile(),
    "queue": lp.Queue,
    "event": lambda device: lp.Queue(device).marker(),
    "graph": recorded,
    "context": lambda device: lp.Context([device]),
    "stream": lambda device: lp.Stream(),
    "image": lambda device: lp.UnsampledImage(np.zeros((2, 2), np.float32), device=device),
    "kernel[n].on(queue)": lambda device: increment[4].on(lp.Queue(device)),
    "bundle": lambda device: lp.get_kernel_bundle(lp.Context([device]), state=lp.BundleState.INPUT),
    "image of a bundle": lambda device: next(iter(executable(device))),
    "kernel of a bundle": lambda device: executable(device).get_kernel(increment.kernel_id),
}


def executable(device: lp.Device) -> lp.KernelBundle:
    return lp.get_kernel_bundle(lp.Context([device]), state=lp.BundleState.EXECUTABLE, kernel=increment)


@pytest.mark.native_only("graphs are not interpreted")
@pytest.mark.parametrize("name", MAKERS)
def test_a_copy_is_the_object_itself(device: lp.Device, name: str) -> None:
    made = MAKERS[name](device)
    assert copy.copy(made) is made and copy.deepcopy([made])[0] is made


@pytest.mark.native_only("graphs are not interpreted")
@pytest.mark.parametrize("name", MAKERS)
def test_it_cannot_be_pickled(device: lp.Device, name: str) -> None:
    with pytest.raises(TypeError, match="belongs to this process and cannot be pickled"):
        pickle.dumps(MAKERS[name](device))


@pytest.mark.native_only("graphs are not interpreted")
def test_events_of_every_kind_are_called_so(device: lp.Device) -> None:
    with lp.graph():
        recorded_event = increment[4](lp.zeros(4, device=device))
    with pytest.raises(TypeError, match=r"an lp\.Event belongs to this process"):
        pickle.dumps(recorded_event)


def test_copies_of_arrays_are_arrays(device: lp.Device) -> None:
    array = lp.asarray(np.arange(4, dtype=np.float32), device=device)
    for made in (copy.copy(array), copy.deepcopy(array)):
        increment[4](made)
        np.testing.assert_array_equal(made.numpy(), np.arange(4) + 1)
    np.testing.assert_array_equal(array.numpy(), np.arange(4))
    with pytest.raises(TypeError, match=r"pickle a\.numpy\(\)"):
        pickle.dumps(array)


def test_kernels_are_pickled_by_name() -> None:
    assert pickle.loads(pickle.dumps(increment)) is increment


def test_kernels_with_a_range_are_pickled_also_after_a_launch(device: lp.Device) -> None:
    array, configuration = lp.zeros(4, device=device), increment[4]
    for _ in range(3):
        configuration(array)
    assert copy.copy(configuration) is copy.deepcopy(configuration) is configuration
    pickle.loads(pickle.dumps(configuration))(array)
    assert array.numpy().tolist() == [4] * 4


def test_devices_are_pickled_by_their_selectors(device: lp.Device) -> None:
    lesser = device.masked(without=[lp.Aspect.FP64], limits={"max_work_group_size": 64})
    for own in (device, lesser):
        assert copy.copy(own) is copy.deepcopy(own) is own
        assert all(pickle.loads(pickle.dumps(own, protocol)) is own for protocol in range(6))
    unlisted = Device(device.physical, "unlisted")
    with pytest.raises(TypeError, match=r"unlisted.* cannot be pickled"):
        pickle.dumps(unlisted)


def test_ids_of_kernels_say_what_to_pickle() -> None:
    with pytest.raises(lp.InvalidError, match=r"pickle its kernel, or the name for lp\.get_kernel_id"):
        pickle.dumps(increment.kernel_id)
    assert copy.deepcopy(increment.kernel_id) is increment.kernel_id


def test_options_are_those_of_the_process() -> None:
    assert (
        copy.copy(lp.config) is copy.deepcopy(lp.config) is pickle.loads(pickle.dumps(lp.config)) is lp.config
    )
