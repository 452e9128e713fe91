"""copy, deepcopy and pickle of what users hold: the object itself, another one, or an error that says why."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device


@lp.kernel
def increment(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] += 1.0


def recorded(device: lp.Device) -> lp.Graph:
    with lp.graph() as graph:
        increment[4](lp.zeros(4, device=device))
    return graph


MAKERS: dict[str, Callable[[lp.Device], Any]] = {
    "device": lambda device: device,
    "queue": lp.Queue,
    "event": lambda device: lp.Queue(device).marker(),
    "graph": recorded,
    "context": lambda device: lp.Context([device]),
    "stream": lambda device: lp.Stream(),
    "image": lambda device: lp.UnsampledImage(np.zeros((2, 2), np.float32), device=device),
    "kernel[n]": lambda device: increment[4],
    "kernel[n].on(queue)": lambda device: increment[4].on(lp.Queue(device)),
    "bundle": lambda device: lp.get_kernel_bundle(lp.Context([device]), state=lp.BundleState.INPUT),
}


@pytest.mark.native_only("graphs are not interpreted")
@pytest.mark.parametrize("name", MAKERS)
def test_a_copy_is_the_object_itself(device: lp.Device, name: str) -> None:
    made = MAKERS[name](device)
    assert copy.copy(made) is made and copy.deepcopy([made])[0] is made


@pytest.mark.native_only("graphs are not interpreted")
@pytest.mark.parametrize("name", [name for name in MAKERS if name != "kernel[n]"])
def test_it_cannot_be_pickled(device: lp.Device, name: str) -> None:
    with pytest.raises(TypeError, match="belongs to this process and cannot be pickled"):
        pickle.dumps(MAKERS[name](device))


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
