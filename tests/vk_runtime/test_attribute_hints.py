"""Names that other libraries have on arrays, queues and events: the error says what lapilli has."""

from __future__ import annotations

import copy
import pickle

import pytest

import lapilli as lp
from lapilli.vk_runtime import attribute_hints
from lapilli.vk_runtime.backend import NotThere
from lapilli.vk_runtime.queue import OF_OTHER_QUEUES


@pytest.mark.parametrize(
    ("of", "name", "hint"),
    [
        ("queue", "memcpy", r"queue\.copy\(source, target\)"),
        ("queue", "synchronize", r"queue\.wait\(\)"),
        ("queue", "ext_oneapi_submit_barrier", r"queue\.marker\(\)"),
        ("queue", "in_order", r"queue\.is_in_order"),
        ("event", "wait_and_throw", r"event\.wait\(\)"),
        ("array", "get_access", r"pass the array"),
        ("array", "byte_size", r"a\.nbytes"),
        ("event", "query", r"event\.done"),
        ("event", "numpy", r"a\.numpy\(\)"),
        ("array", "sum", r"a\.numpy\(\)"),
        ("array", "from_numpy", r"a\.copy_from\(x\)"),
        ("device", "max_work_group_size", r"device\.info\.max_work_group_size"),
    ],
)
def test_the_message_names_what_there_is(device: lp.Device, of: str, name: str, hint: str) -> None:
    queue = lp.Queue(device)
    found = {"device": device, "queue": queue, "event": queue.marker(), "array": lp.zeros(1, device=device)}[
        of
    ]
    with pytest.raises(AttributeError, match=rf"has no attribute '{name}'; .*{hint}"):
        getattr(found, name)
    assert not hasattr(found, "nothing_of_the_kind")


def test_queues_say_so_by_name(device: lp.Device) -> None:
    """A ``__getattr__`` would slow down every launch; names that are not there are not listed either."""
    queue = lp.Queue(device)
    assert frozenset(attribute_hints.HINTS["Queue"]) == OF_OTHER_QUEUES
    assert not hasattr(lp.Queue, "__getattr__")
    assert not hasattr(queue, "memcpy") and not hasattr(lp.Queue, "memcpy")
    assert "wait" in dir(queue) and not OF_OTHER_QUEUES & {*dir(queue)}
    # Whoever gives it such a method takes the name off the list.
    assert all(isinstance(vars(lp.Queue)[name], NotThere) for name in OF_OTHER_QUEUES)
    assert not OF_OTHER_QUEUES & {name for base in lp.Queue.__mro__[1:] for name in vars(base)}


def test_a_closed_queue_looks_closed(device: lp.Device) -> None:
    queue = lp.Queue(device)
    assert repr(queue) == f"<lapilli.Queue on {device.selector}>"
    queue.close()
    assert repr(queue) == f"<lapilli.Queue on {device.selector}, closed>"


def test_kernel_and_range_the_wrong_way_round(device: lp.Device) -> None:
    with pytest.raises(
        lp.InvalidError, match=r"found 4 of type int; the order is .*parallel_for\(range, kernel"
    ):
        lp.Queue(device).parallel_for(lambda: None, 4)


def test_hints_are_for_names_that_are_missing(device: lp.Device) -> None:
    queue = lp.Queue(device)
    objects = {"Queue": queue, "Event": queue.marker(), "Array": lp.zeros(1, device=device)}
    for kind, hints in attribute_hints.HINTS.items():
        assert not set(hints) & set(dir(objects[kind])), kind


def test_objects_of_a_device_are_copied_and_not_pickled(device: lp.Device) -> None:
    """Devices are both: `test_copies_of_objects`."""
    queue = lp.Queue(device)
    for found in (queue, queue.marker(), lp.Context([device])):
        assert copy.copy(found) is found
        with pytest.raises(TypeError, match=rf"an lp\.{type(found).__name__} belongs to this process"):
            pickle.dumps(found)


def test_what_is_made_of_the_wrong_things(device: lp.Device) -> None:
    with pytest.raises(
        lp.InvalidError, match=r"lp\.Queue\(context=…\) takes an lp\.Context or None; found 3"
    ):
        lp.Queue(device, context=3)
    with pytest.raises(lp.InvalidError, match=r"lp\.Device has no public constructor; lp\.device\(\) gives"):
        lp.Device()
