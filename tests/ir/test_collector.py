"""The garbage collector runs again after a pause, whatever happened in it."""

from __future__ import annotations

import gc
import os
import threading

import pytest

from lapilli.ir.collector import collector_off
from lapilli.ir.deferred_definitions import deferred_definitions, is_supported


@pytest.mark.parametrize("pause", [collector_off, *([deferred_definitions] if is_supported() else [])])
def test_ctrl_c_behind_the_call_that_stops_it(pause, monkeypatch):
    disable = gc.disable

    def interrupted():
        disable()
        raise KeyboardInterrupt

    monkeypatch.setattr(gc, "disable", interrupted)
    with pytest.raises(KeyboardInterrupt), pause():
        pass
    assert gc.isenabled()


def test_ctrl_c_in_what_turns_it_on():
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), collector_off(interrupted):
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_program_that_has_stopped_it_stays_without():
    gc.disable()
    try:
        with collector_off():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_child_that_is_forked_meanwhile_collects():
    stopped, go_on = threading.Event(), threading.Event()

    def pause():
        with collector_off():
            stopped.set()
            go_on.wait(20)

    thread = threading.Thread(target=pause)
    thread.start()
    stopped.wait(20)
    process_id = os.fork()
    if process_id == 0:
        os._exit(0 if gc.isenabled() else 1)
    assert not gc.isenabled()
    go_on.set()
    thread.join()
    assert os.waitpid(process_id, 0)[1] == 0
    assert gc.isenabled()
