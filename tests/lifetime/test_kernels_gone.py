"""Kernels come and go: what drivers, queues, bundles and caches keep of them does not grow with their number."""

# pyright: basic, reportArgumentType=false

from __future__ import annotations

import contextlib
import gc
import linecache
import math
import sys
import weakref

import numpy as np
import pytest

import lapilli as lp
from lapilli.frontend import compile as compiling
from lapilli.vk_runtime import launch_cache, pipeline, reports
from lapilli.vk_runtime.device import Device

from .footprint import footprint

pytestmark = pytest.mark.device


@lp.kernel
def add_one(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = x[i] + 1.0


@lp.kernel
def say(x: lp.Array[lp.f32], stream: lp.Stream):
    stream << "streamed" << lp.Stream.endl
    x[0] += 1.0


SCALE = """
import lapilli as lp

@lp.kernel
def scale_{n}(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = x[i] * {n}.0
"""


def test_kernels_come_and_go_without_growth(device):
    """A kernel that nobody holds takes its image along; the pipelines of a device are bounded."""
    x = lp.ones(8, device=device)

    def live(n):
        lp.kernel_from_source(SCALE.format(n=n))[8](x)

    for n in range(3):
        live(n)
    footprint(device)
    kept = weakref.ref(lp.kernel_from_source(SCALE.format(n=77)))
    gc.collect()
    assert kept() is None
    count = len(gc.get_objects())
    for n in range(3, 13):
        live(n)
    footprint(device)
    assert len(gc.get_objects()) < count + 10 * 2000


def test_the_texts_of_kernels_go_with_them():
    text = SCALE.format(n=78)
    one, two = lp.kernel_from_source(text), lp.kernel_from_source(text)
    file = one.function.__code__.co_filename
    del one
    gc.collect()
    assert two.source.text and file in linecache.cache
    del two
    gc.collect()
    assert file not in linecache.cache


@lp.kernel
def add_constant(x: lp.Array[lp.i32], n: lp.Const[lp.i32]):
    x[lp.global_id(0)] += n


def test_compiled_constants_are_bounded(device, monkeypatch):
    monkeypatch.setattr(compiling, "COMPILED_LIMIT", 4)
    x = lp.zeros(8, lp.i32, device=device)
    for n in range(10):
        add_constant[8](x, n % 6)
        assert len(add_constant.compiled) <= 4
    assert (x.numpy() == sum(n % 6 for n in range(10))).all()


OFFSET = lp.SpecializationId(lp.i32, 0)


@lp.kernel
def add_offset(x: lp.Array[lp.i32]):
    x[lp.global_id(0)] += OFFSET


def test_pipelines_that_only_prepared_launches_hold_are_bounded(device, monkeypatch):
    monkeypatch.setattr(pipeline, "LIVING_PIPELINES", 6)
    monkeypatch.setattr(pipeline, "CACHED_PIPELINES", 2)
    own = Device(device.physical, device.selector)
    x = lp.zeros(8, lp.i32, device=own)
    living = own.logical.pipelines._living
    held = add_offset[8].spec({OFFSET: 1})
    for n in range(30):
        held(x)
        add_offset[8].spec({OFFSET: n})(x)
        own.default_queue.wait()
        assert len(living) <= 7
    assert (x.numpy() == 30 + sum(range(30))).all()
    own.shut_down()


def test_large_pipelines_that_nobody_holds_are_bounded_by_their_code(device, monkeypatch):
    own = Device(device.physical, device.selector)
    x, store = lp.ones(8, device=own), own.logical.pipelines
    made = lp.kernel_from_source(SCALE.format(n=2))
    made[8](x)
    monkeypatch.setattr(pipeline, "CACHED_CODE_BYTES", 7 * next(iter(store._living.values())).code_bytes // 2)
    for n in range(3, 11):
        lp.kernel_from_source(SCALE.format(n=n))[8](x)
    assert len(store._pipelines) == len(store._modules) == 3
    made[8](x)
    assert (x.numpy() == 2 * math.factorial(10)).all()
    own.shut_down()


@pytest.mark.parametrize(
    ("said", "is_kept"), [(32, False), (33, True), (1000, True), ((32 << 20) + 1, False)]
)
def test_a_driver_s_cache_that_may_grow_without_end_is_begun_anew(device, monkeypatch, said, is_kept):
    """A header alone says nothing of what the driver keeps, and more than is saved is of no use."""
    monkeypatch.setattr(pipeline, "PIPELINES_PER_CACHE", 3)
    own = Device(device.physical, device.selector)
    x = lp.zeros(8, lp.i32, device=own)
    store, first = own.logical.pipelines, own.logical.pipelines.cache

    def size_of(device, cache, size, data):
        size[0] = said
        return 0

    monkeypatch.setattr(own.logical.vk, "vkGetPipelineCacheData", size_of)
    for n in range(100, 102):
        add_offset[8].spec({OFFSET: n})(x)
    assert store.cache is first
    add_offset[8].spec({OFFSET: 102})(x)
    assert (store.cache is first) == is_kept
    add_offset[8].spec({OFFSET: 103})(x)
    assert (x.numpy() == sum(range(100, 104))).all()
    monkeypatch.undo()
    own.shut_down()


def test_what_kernels_report_through_goes_with_them(device, capsys):
    """A kernel that prints has a buffer of a megabyte on each queue, one that asserts a small one."""
    x = lp.zeros(4, device=device)
    text = """
@lp.kernel
def report(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    assert x[i] >= 0.0
    x[i] += {n}.0
    if i == 0:
        print({n})
"""

    def live(n):
        kernel = lp.kernel_from_source(text.format(n=n))
        kernel[4](x)
        kernel[lp.IndirectRange(lp.full(1, 4, lp.u32, device=device))](x)

    live(0)
    before = footprint(device)
    for n in range(1, 12):
        live(n)
    assert footprint(device)[1] < before[1] + (1 << 20)  # command buffers have memory for arguments
    live(12)  # its lines come though it is gone
    assert (x.numpy() == 2 * sum(range(13))).all()
    assert capsys.readouterr().out.split() == [str(n) for n in range(13) for _ in range(2)]


def wait_with(action, queue):
    """Waits for a queue; calls `action` in front of each line of the module that reads reports."""

    def trace(frame, event, _):
        if frame.f_code.co_filename != reports.__file__:
            return None
        if event == "line":
            action()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        queue.wait()
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("line", range(40))
def test_a_finaliser_reads_while_reports_are_read(device, capsys, line):
    """Between two lines of the module that reads reports another launch is made and waited for, as finalisers may:
    neither wait fails, but where a report is copied."""
    x = lp.zeros(1, device=device)
    kernel = lp.kernel_from_source(
        "@lp.kernel\ndef report(x: lp.Array[lp.f32]):\n    x[0] += 1.0\n    print(x[0])\n"
    )
    queue = lp.Queue(device)
    passed = iter(range(line, -1, -1))

    def interrupt():
        if next(passed, None) == 0:
            sys.settrace(None)
            with contextlib.suppress(lp.InvalidError):
                kernel[1].on(queue)(x).wait()

    kernel[1].on(queue)(x)
    wait_with(interrupt, queue)
    queue.wait()
    launches = int(x.numpy()[0])
    assert capsys.readouterr().out.split() == ["1.0", "2.0"][:launches]


def test_kernels_may_go_while_reports_of_others_are_read(device, capsys):
    """Each line of the module that reads reports lets another kernel go, as other threads may."""
    x = lp.zeros(1, device=device)
    text = "@lp.kernel\ndef report(x: lp.Array[lp.f32]):\n    x[0] += 1.0\n    print({n})\n"
    queue = lp.Queue(device)
    others = [lp.kernel_from_source(text.format(n=n)) for n in range(20)]
    for kernel in others:
        kernel[1].on(queue)(x)
    queue.wait()
    del kernel

    def let_go():
        if others:
            others.pop()
            gc.collect()

    say[1].on(queue)(x, lp.Stream(4096, 80))
    wait_with(let_go, queue)
    assert not others
    assert capsys.readouterr().out.split() == [*map(str, range(20)), "streamed"]


def test_launches_of_bundles_go_with_them(device):
    x = lp.zeros(4, device=device)
    text = (
        SCALE
        + """    if x[i] < 0.0:
        print(i)
"""
    )

    def live(n):
        source = lp.create_kernel_bundle_from_source(
            device.default_queue.context, lp.SourceLanguage.PYTHON, text.format(n=n)
        )
        kernel = lp.build(source).get_kernel(f"scale_{n}")
        device.default_queue.parallel_for(4, kernel, x)
        device.default_queue.parallel_for(lp.IndirectRange(lp.full(1, 4, lp.u32, device=device)), kernel, x)

    live(1)
    before = footprint(device)
    for n in range(2, 6):
        live(n)
    assert footprint(device)[1] < before[1] + (1 << 20)


def test_launch_records_are_bounded(device, monkeypatch):
    monkeypatch.setattr(launch_cache, "RECORD_LIMIT", 5)
    x = lp.zeros(40, device=device)
    bundle = lp.get_kernel_bundle(
        device.default_queue.context, state=lp.BundleState.EXECUTABLE, kernel=add_one
    )
    kernel = bundle.get_kernel(add_one)
    for n in range(1, 41):
        device.default_queue.parallel_for(n, kernel, x)
        assert len(kernel.kernel_bundle.launches.records) <= 5
    assert (x.numpy() == np.arange(40, 0, -1)).all()


def test_bindings_of_kernels_go_with_them(device):
    x = lp.zeros(4, device=device)
    before = len(device.logical.launches.bindings)
    for number in range(12):
        kernel = lp.kernel_from_source(
            f"@lp.kernel\ndef add_{number}(x: lp.Array[lp.f32]):\n    x[lp.global_id(0)] += {number}.0\n"
        )
        kernel[4](x)
    assert (x.numpy() == sum(range(12))).all()
    del kernel
    footprint(device)
    assert len(device.logical.launches.bindings) <= before
