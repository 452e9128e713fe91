"""Launches at the edges: argument blocks of several sizes, arrays beyond a binding, the short way of `k[n]`."""

# pyright: basic, reportArgumentType=false

from __future__ import annotations

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device


def sum_of(count):
    """A kernel whose `count` scalars do not fit into push constants."""
    names = [f"a{i}" for i in range(count)]
    parameters = ", ".join(f"{name}: lp.f32" for name in names)
    return lp.kernel_from_source(
        f"@lp.kernel\ndef sum_{count}(x: lp.Array[lp.f32], {parameters}):\n"
        f"    x[lp.global_id(0)] = {' + '.join(names)}\n"
    )


def test_kernels_with_argument_blocks_of_different_sizes(device):
    small, large = sum_of(40), sum_of(200)
    x = lp.zeros(8, device=device)
    for kernel, count in ((small, 40), (large, 200), (small, 40)):
        kernel[8](x, *[1.0] * count)
        assert x.numpy().tolist() == [float(count)] * 8


@lp.kernel
def set_first(first: lp.Array[lp.f32], second: lp.Array[lp.f32]):
    first[0] = 1.0
    second[0] = 1.0


@pytest.mark.native_only("the interpreter has no bindings, so no limit of them")
def test_an_array_larger_than_a_binding_is_named(device):
    device = device.masked(without=(lp.Aspect.VK_BUFFER_DEVICE_ADDRESS,))  # else the kernel takes the address
    limit = device.physical.limits.max_storage_buffer_range_bytes
    if limit > 1 << 28 or limit >= device.info.max_mem_alloc_size:
        pytest.skip(f"bindings of {limit} bytes: such an array would be too large for a test")
    small, large = lp.zeros(4, device=device), lp.empty(limit // 4 + 1, device=device)
    for _ in range(2):
        with pytest.raises(lp.KernelNotSupportedError) as caught:
            set_first[1](small, large)
        message = str(caught.value)
        assert "kernel 'set_first', argument 'second'" in message
        assert f"{limit + 4:,}" in message and f"{limit:,}" in message and "maxStorageBufferRange" in message
    assert small.numpy().tolist() == [0, 0, 0, 0]
    set_first[1](small, lp.zeros(4, device=device))
    assert small.numpy()[0] == 1


@lp.kernel
def store(x: lp.Array[lp.f32], value: lp.f32):
    i = lp.global_id(0)
    x[i] = value


@lp.kernel
def store_named(x: lp.Array[lp.f32], *, value: lp.f32):
    i = lp.global_id(0)
    x[i] = value


def test_a_repeated_launch_is_checked_like_the_first(device):
    x = lp.zeros(4, device=device)
    for _ in range(3):
        store[1](x, 1.0)
        store[(1,)](x, 1.0)
    for wrong in (True, 1.0, np.True_, (True,), (1.0,)):
        with pytest.raises(lp.NdRangeError):
            store[wrong](x, 2.0)
    for arguments in ((), (x,), (x, 1.0, 2.0), (1.0, x), (x, "1"), (x, True), (x, 1e300)):
        with pytest.raises(lp.KernelArgumentError):
            store[1](*arguments)
    x.release()
    with pytest.raises(lp.KernelArgumentError, match="released"):
        store[1](x, 2.0)


def test_a_repeated_launch_follows_its_arguments_to_their_device(device):
    for _ in range(2):
        for other in lp.devices():
            x = lp.zeros(4, device=other)
            store[4](x, 3.0)
            assert x.numpy().tolist() == [3.0] * 4
        x = lp.zeros(4, device=device)
        store[4](x, 4.0)
        assert x.numpy().tolist() == [4.0] * 4


def test_a_repeated_launch_keeps_keyword_only_parameters(device):
    x = lp.zeros(4, device=device)
    for _ in range(3):
        store_named[4](x, value=5.0)
    with pytest.raises(lp.KernelArgumentError, match="positional"):
        store_named[4](x, 6.0)
    assert x.numpy().tolist() == [5.0] * 4


def test_events_to_wait_for_come_in_a_sequence(device):
    x = lp.zeros(4, device=device)
    queue = lp.Queue(device)
    event = store[4](x, 1.0)
    for wrong in (event, None, 3):
        with pytest.raises(
            lp.InvalidError, match=r"'store': \.on\(…, wait=…\) expects a sequence of lp.Event"
        ):
            store[4].on(queue, wait=wrong)
    store[4].on(queue, wait=(e for e in [event]))(x, 2.0).wait()
    assert x.numpy().tolist() == [2.0] * 4
