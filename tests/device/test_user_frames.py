"""Errors end in the user's own line with one frame of lapilli behind it, and keep what caused them."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable

import numpy as np
import pytest

import lapilli as lp


@lp.kernel
def failing(x: lp.Array[lp.f32]):
    assert x[lp.global_id(0)] == 0.0
    x[0] = 1.0


def _frames_behind_here(error: BaseException) -> int:
    frames = traceback.extract_tb(error.__traceback__)
    own = max(number for number, frame in enumerate(frames) if frame.filename == __file__)
    return len(frames) - own - 1


def _replayed(x: lp.Array) -> None:
    with lp.graph() as graph:
        failing[1](x)
    graph.replay().wait()


async def _awaited(x: lp.Array) -> None:
    await failing[1](x)


def _read(x: lp.Array) -> None:
    failing[1](x)
    x.numpy()


def _waited(x: lp.Array) -> None:
    queue = lp.Queue(x.device)
    queue.parallel_for(1, failing, x)
    queue.wait()


def _interpreted(x: lp.Array) -> None:
    with lp.config.override(interpret=True):
        failing[1](x).wait()


FAILURES: dict[str, Callable[[lp.Array], object]] = {
    "wait": lambda x: failing[1](x).wait(),
    "read": _read,
    "await": lambda x: asyncio.run(_awaited(x)),
    "queue": _waited,
    "graph": _replayed,
    "interpreter": _interpreted,
    "argument": lambda x: failing[1](3.0),
    "range": lambda x: failing["a"](x),
    "shape": lambda x: lp.zeros(-1),
    "dtype": lambda x: lp.asarray(object()),
    "copy": lambda x: x.copy_from(np.zeros(7, np.float32)),
    "fill": lambda x: x.fill("a"),
    "reshape": lambda x: x.reshape(5),
    "released": lambda x: (x.release(), x.numpy()),
    "bundle": lambda x: lp.get_kernel_id(_read),
    "file": lambda x: lp.load_kernel_bundle(lp.Context(), "there is no such file.lpk"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_one_frame_of_lapilli_follows_the_users_line(failure: str, device) -> None:
    x = lp.ones(2, device=device)
    with pytest.raises(lp.Error) as raised:
        FAILURES[failure](x)
    assert _frames_behind_here(raised.value) == 1


def test_every_frame_is_there_while_debugging_lapilli() -> None:
    with lp.config.override(log="debug"), pytest.raises(lp.Error) as raised:
        lp.zeros(-1)
    assert _frames_behind_here(raised.value) > 2


def test_frames_of_a_command_group_stay(device) -> None:
    def group(handler: lp.Handler) -> None:
        lp.zeros(-1, device=device)

    with pytest.raises(lp.Error) as raised:
        lp.Queue(device).submit(group)
    assert "group" in [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)]


def test_causes_and_contexts_survive(device) -> None:
    def launch() -> None:
        try:
            raise KeyError("before")
        except KeyError:
            failing[1](3.0)

    with pytest.raises(lp.KernelArgumentError) as raised:
        launch()
    assert isinstance(raised.value.__context__, KeyError)
    with pytest.raises(lp.InvalidError) as refused:
        lp.load_kernel_bundle(lp.Context(), "there is no such file.lpk")
    assert isinstance(refused.value.__cause__, OSError)
