"""Kernels that check or print and only read their arrays, or not even that: reading one of these arrays tells, too."""

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime.device import Device


@lp.kernel
def checks(x: lp.In[lp.f32]):
    i = lp.global_id(0)
    assert x[i] < 5.0, "too large"


@lp.kernel
def checks_nothing_of(x: lp.Array[lp.f32], n: lp.i32):
    assert n < 5


@lp.kernel
def prints(x: lp.Array[lp.f32]):
    print("seen", x[0])


@pytest.fixture(params=[False, True], ids=["mapped", "staged"])
def memory(request, device):
    """Gives a device as it is, and as a GPU whose memory the host does not see."""
    if request.param:
        device = Device(device.physical, device.selector, staged_memory=True)
    yield device
    if request.param:
        device.shut_down()


@pytest.mark.parametrize("look", ["numpy", "copy_to", "copy_from", "fill", "asarray"])
def test_a_failure_is_told_by_the_next_read_or_write_of_an_array(look: str, memory) -> None:
    x = lp.asarray(np.arange(8, dtype=np.float32), device=memory)
    looks = {
        "numpy": x.numpy,
        "copy_to": lambda: x.copy_to(np.zeros(8, np.float32)),
        "copy_from": lambda: x.copy_from(np.zeros(8, np.float32)),
        "fill": lambda: x.fill(9.0),
        "asarray": lambda: np.asarray(x),
    }
    if look in ("copy_from", "fill") and not x.is_host_visible:
        pytest.skip("such writes are recorded behind the launch, and wait for nothing")
    checks[8](x)
    with pytest.raises(lp.KernelTrap, match="too large") as caught:
        looks[look]()
    assert caught.value.work_item == (5,)
    memory.default_queue.wait()  # nothing is told twice


@lp.kernel
def grows(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] += 1.0


@pytest.mark.parametrize("waits", [False, True], ids=["read", "waited for"])
def test_it_is_told_behind_a_launch_that_brings_the_copy_along(waits: bool, memory) -> None:
    """A download that comes again is submitted with the launch before it; kernels behind that are waited for, too."""
    x = lp.zeros(8, device=memory)
    checks[8](x).wait()  # the first launch would be submitted at once
    for _ in range(12):
        event = grows[8](x)
        if waits:
            event.wait()
        x.numpy()
    for _ in range(4):
        grows[8](x)
        checks[8](x)
        with pytest.raises(lp.KernelTrap, match="too large"):
            x.numpy()
        x.numpy()


def test_it_is_told_at_every_round(memory) -> None:
    x = lp.asarray(np.arange(8, dtype=np.float32), device=memory)
    for _ in range(4):  # downloads that come again are recorded once
        checks[8](x)
        with pytest.raises(lp.KernelTrap):
            x.numpy()
        np.testing.assert_array_equal(x.numpy(), np.arange(8))


def test_an_array_that_the_kernel_has_and_does_not_use(memory) -> None:
    x = lp.zeros(8, device=memory)
    checks_nothing_of[8](x, 7)
    with pytest.raises(lp.KernelTrap, match="n is 7"):
        x.numpy()


def test_lines_come_with_the_next_read(memory, capsys) -> None:
    x = lp.full(4, 2.0, device=memory)
    for _ in range(3):
        prints[1](x)
        x.numpy()
        assert capsys.readouterr().out == "seen 2.0\n"
