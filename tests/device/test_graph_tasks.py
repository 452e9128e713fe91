"""Graphs that are recorded by tasks of asyncio: what other tasks launch meanwhile runs, and is no part of them."""

from __future__ import annotations

import asyncio
import gc
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest

import lapilli as lp
from lapilli.vk_runtime import graph_recording

from .graph_kernels import add, zeros

pytestmark = [pytest.mark.device, pytest.mark.native_only("graphs are not interpreted")]


def test_other_tasks_launch_while_one_records(device):
    x, y = zeros(device), zeros(device)
    is_recording, has_launched = asyncio.Event(), asyncio.Event()

    async def launch():
        await is_recording.wait()
        try:
            await add[64](1.0, y)
            assert (y.numpy() == 1).all()  # a graph takes no copies to the host
        finally:
            has_launched.set()

    async def record():
        with lp.graph() as g:
            add[64](1.0, x)
            is_recording.set()
            await has_launched.wait()
            add[64](1.0, x)
        return g

    async def main():
        task = asyncio.create_task(launch())
        g = await record()
        await task
        return g

    g = asyncio.run(main())
    assert len(g) == 2 and (x.numpy() == 0).all()
    g.replay()
    assert (x.numpy() == 2).all() and (y.numpy() == 1).all()


def test_tasks_record_at_the_same_time(device):
    arrays = [zeros(device) for _ in range(4)]

    async def record(value):
        with lp.graph() as g:
            for _ in range(value):
                add[64](1.0, arrays[value])
                await asyncio.sleep(0)
        assert len(g) == value
        return g

    async def main():
        return await asyncio.gather(*[record(value) for value in range(1, 4)])

    for graph in asyncio.run(main()):
        graph.replay()
    assert [float(x.numpy()[0]) for x in arrays] == [0, 1, 2, 3]


def test_tasks_that_the_block_starts_record_until_it_ends(device):
    """As `asyncio.gather` and, in Python 3.11, `asyncio.wait_for` start them."""
    x = zeros(device)

    async def launch(has_ended):
        add[64](1.0, x)
        await has_ended.wait()
        add[64](10.0, x)

    async def once():
        add[64](1.0, x)

    async def main():
        has_ended = asyncio.Event()
        with lp.graph() as g:
            late = asyncio.create_task(launch(has_ended))
            await asyncio.gather(once(), once())
            await asyncio.wait_for(once(), 60)
        has_ended.set()
        await late
        return g

    g = asyncio.run(main())
    assert len(g) == 4 and (x.numpy() == 10).all()
    g.replay()
    assert (x.numpy() == 14).all()


def test_a_block_may_be_left_in_another_task(device):
    """As fixtures and async generators do."""
    x = zeros(device)
    g = lp.graph()

    async def enter():
        g.__enter__()
        add[64](1.0, x)

    async def leave():
        g.__exit__(None, None, None)
        add[64](1.0, x)

    async def main():
        await asyncio.create_task(enter())
        await asyncio.create_task(leave())

    asyncio.run(main())
    assert len(g) == 1 and (x.numpy() == 1).all()


def test_threads_with_a_copy_of_the_context_launch(device):
    x = zeros(device)
    with lp.graph() as g, ThreadPoolExecutor(1) as pool:
        pool.submit(copy_context().run, lambda: add[64](1.0, x).wait()).result()
    assert len(g) == 0 and (x.numpy() == 1).all()


def test_a_graph_that_is_entered_by_hand_and_let_go_of_stops_recording(device):
    """And launches ask nobody any more who records them."""
    x = zeros(device)
    before = set(graph_recording.active)

    def enter():
        g = lp.graph()
        g.__enter__()
        add[64](1.0, x)
        assert len(g) == 1

    copy_context().run(enter)
    enter()
    gc.collect()
    assert graph_recording.active == before
    add[64](1.0, x)
    assert (x.numpy() == 1).all()
