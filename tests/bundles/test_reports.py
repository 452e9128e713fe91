"""Checks and prints of kernels in bundles, in linked images, and the handlers that their failures go to."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend.captures import Captures
from lapilli.frontend.compile import compile_kernels
from lapilli.frontend.linking import link_externals
from lapilli.ir.config import config
from lapilli.spirv.device_image import DeviceImage
from lapilli.spirv.link_images import link_images
from lapilli.vk_runtime.bundle_launch import launch_kernel

from . import reporting, reporting_library

pytestmark = pytest.mark.device

OBJECT, EXECUTABLE = lp.BundleState.OBJECT, lp.BundleState.EXECUTABLE


def executable(context, *kernels):
    return lp.get_kernel_bundle(context, state=EXECUTABLE, kernel_ids=kernels)


def test_a_kernel_of_a_bundle_traps_and_prints(device, context, capsys):
    bundle, queue = executable(context, reporting.spoken), lp.Queue(device)
    x = lp.asarray(np.array([1, -2], np.float32), device=device)
    with lp.trace() as trace:
        launch_kernel(queue, bundle.get_kernel(reporting.spoken), 2, (x,))
    assert trace.count("pipeline") == trace.count("module") == 0
    with pytest.raises(lp.KernelTrap, match=r"spoken', work-item \(1,\): assert x\[i\] >= 0.0: negative"):
        queue.wait()
    assert sorted(capsys.readouterr().out.splitlines()) == ["item 0 1.0", "item 1 -2.0"]


def test_a_linked_kernel_keeps_its_checks(device, context):
    objects = [
        lp.get_kernel_bundle(context, state=OBJECT, kernel_ids=[kernel])
        for kernel in (reporting.guarded, reporting_library.library_kernel)
    ]
    linked, queue = lp.link(objects), lp.Queue(device)
    x = lp.full(4, 5.0, device=device)
    launch_kernel(queue, linked.get_kernel(reporting.guarded), 4, (x, 6.0)).wait()
    assert set(x.numpy().tolist()) == {10.0}
    with pytest.raises(
        lp.KernelTrap, match=r"assert x\[i\] < limit: element \d; i is \d, limit is 6.0"
    ) as raised:
        launch_kernel(queue, linked.get_kernel(reporting.guarded), 4, (x, 6.0)).wait()
    line = reporting.guarded.function.__code__.co_firstlineno + 3
    assert raised.value.location is not None and raised.value.location.line == line


def test_a_launch_links_a_kernel_with_checks(device):
    x = lp.asarray(np.array([1, 1, 1, 9], np.float32), device=device)
    with pytest.raises(lp.KernelTrap, match=r"element 3"):
        reporting.guarded[4](x, 6.0).wait()
    x = lp.full(4, 5.0, device=device)
    reporting.guarded[4](x, 6.0).wait()
    assert set(x.numpy().tolist()) == {10.0}


def test_images_linked_together_keep_their_sites_apart(device):
    env = device.target_env
    (first,) = compile_kernels([reporting.spoken], env)
    (second,) = compile_kernels([reporting.everywhere], env, rank=1)
    linked = link_images([first, second])
    for image in (first, second):
        (kernel,) = image.kernels
        assert linked.kernel(kernel.name).sites == kernel.sites
        assert linked.kernel(kernel.name).abi.report_binding == kernel.abi.report_binding
    (user,) = compile_kernels([reporting.guarded], env)
    whole = link_externals(user, Captures())
    again = DeviceImage.from_bytes(whole.to_bytes())
    assert again.kernel("guarded").sites == user.kernel("guarded").sites
    assert again.target_env == user.target_env


def test_the_id_in_a_message_has_the_dimensions_of_the_range(device, context):
    bundle, queue = executable(context, reporting.everywhere), lp.Queue(device)
    for range_, item in ((8, (5,)), ((2, 4), (1, 1))):
        x = lp.zeros(8, lp.i32, device=device)
        with pytest.raises(lp.KernelTrap) as raised:
            launch_kernel(queue, bundle.get_kernel(reporting.everywhere), range_, (x,)).wait()
        assert raised.value.work_item == item


def test_an_offered_image_is_not_taken_in_another_mode(device, context):
    @lp.kernel
    def beyond(x: lp.Array[lp.i32], y: lp.Array[lp.i32]):
        y[0] = x[lp.global_id(0) + 100]

    lp.compile(lp.get_kernel_bundle(context, state=lp.BundleState.INPUT, kernel_ids=[beyond]))
    x, y = (lp.zeros(4, lp.i32, device=device) for _ in range(2))
    with config.override(debug=True):
        with pytest.raises(lp.KernelTrap, match="index 100 is out of range"):
            beyond[1](x, y).wait()
        bundle = executable(context, beyond)
        with pytest.raises(lp.KernelTrap, match="index 100 is out of range"):
            launch_kernel(device.default_queue, bundle.get_kernel(beyond), 1, (x, y)).wait()


@pytest.mark.parametrize("owner", ["queue", "context"])
@pytest.mark.parametrize("look", ["event", "queue", "read", "close"])
def test_failures_go_to_the_handler(owner, look, device):
    @lp.kernel
    def fails(x: lp.Array[lp.i32]):
        assert x[0] == 1
        x[0] = 2  # reading the array waits for the kernel

    own, others = [], []
    context = lp.Context([device], async_handler=others.append)
    queue = lp.Queue(context=context, async_handler=own.append if owner == "queue" else None)
    x = lp.zeros(1, lp.i32, device=device)
    event = fails[1].on(queue)(x)
    {"event": event.wait, "queue": queue.wait, "read": x.numpy, "close": queue.close}[look]()
    seen, unseen = (own, others) if owner == "queue" else (others, own)
    ((trap,),) = seen
    assert isinstance(trap, lp.KernelTrap) and trap.kernel == "fails" and not unseen
    queue.close()
    assert len(seen) == 1


def test_without_a_handler_one_is_raised_and_the_others_are_logged(device, caplog):
    @lp.kernel
    def first(x: lp.Array[lp.i32]):
        assert x[0] == 1, "one"

    @lp.kernel
    def second(x: lp.Array[lp.i32]):
        assert x[0] == 2, "two"

    queue, x = lp.Queue(device), lp.zeros(1, lp.i32, device=device)
    first[1].on(queue)(x)
    second[1].on(queue)(x)
    with pytest.raises(lp.KernelTrap, match="one"), caplog.at_level(logging.ERROR):
        queue.wait()
    assert "two" in caplog.text
    queue.wait()
