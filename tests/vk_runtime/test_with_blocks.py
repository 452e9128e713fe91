"""Ends of blocks that were never begun, or that have ended: as an ``ExitStack`` put together wrongly calls them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

import lapilli as lp

pytestmark = pytest.mark.native_only("graphs are not interpreted")


@pytest.mark.parametrize("make", [lp.trace, lp.profile, lp.graph])
def test_what_is_not_running_cannot_end(make: Callable[[], AbstractContextManager[object]]) -> None:
    block = make()
    with pytest.raises(lp.InvalidError, match=r"with lp\.\w+\(\) as"):
        block.__exit__(None, None, None)
    with block:
        pass
    with pytest.raises(lp.InvalidError, match=r"with lp\.\w+\(\) as"):
        block.__exit__(None, None, None)


def test_an_end_too_many_leaves_a_graph_as_it_is() -> None:
    with lp.graph() as graph:
        pass
    with pytest.raises(lp.InvalidError):
        graph.__exit__(None, None, None)
    graph.replay()


def test_a_graph_that_its_own_block_releases_stays_released() -> None:
    with lp.graph() as graph:
        graph.release()
    with pytest.raises(lp.InvalidError, match="was released"):
        graph.replay()
