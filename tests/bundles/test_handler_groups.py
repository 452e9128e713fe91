"""Command groups: one command, arguments, dependencies, and nothing submitted after an exception; on every device."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime.reports import HostReport

pytestmark = pytest.mark.device

AMOUNT = lp.SpecializationId(lp.i32, 20)


@lp.kernel
def add(out: lp.Array[lp.i32], more: lp.i32 = 0):
    out[lp.global_id(0)] += AMOUNT + more


@lp.kernel(local_size=4)
def together(out: lp.Array[lp.i32]):
    shared = lp.local.array(4, lp.i32)
    shared[lp.local_id(0)] = out[lp.global_id(0)]
    lp.barrier()
    out[lp.global_id(0)] = shared[lp.local_range(0) - 1 - lp.local_id(0)]


@lp.kernel
def counts(out: lp.Array[lp.i32]):
    shared = lp.local.array(1, lp.i32)
    shared[0] = lp.local_range(0)
    lp.barrier()
    out[0] = shared[0] * 10 + lp.global_range(0)


@pytest.fixture
def out(device):
    return lp.zeros(4, lp.i32, device=device)


@pytest.fixture
def queue(device):
    return lp.Queue(device)


def test_a_group_as_a_function_returns_the_event(queue, out):
    event = queue.submit(lambda h: h.parallel_for(4, add, out, 2))
    assert isinstance(event, lp.Event) and event.wait().done
    assert out.numpy().tolist() == [22] * 4


@lp.kernel
def filtered(out: lp.Array[lp.i32], kernel: lp.i32, range_: lp.i32, self: lp.i32, spec: lp.i32 = 1):
    out[lp.global_id(0)] = kernel + range_ + self + spec


def test_parameters_may_be_called_as_those_of_the_functions_that_launch(queue, out):
    given = {"kernel": 100, "range_": 10, "self": 2}
    for launch in (
        lambda: queue.parallel_for(4, filtered, out, **given),
        lambda: queue.submit(lambda h: h.parallel_for(4, filtered, out, **given)),
        lambda: queue.single_task(filtered, out, **given),
        lambda: queue.submit(lambda h: h.single_task(filtered, out, **given)),
        lambda: filtered[4].on(queue)(out, **given),
    ):
        out.fill(0)
        launch()
        assert out.numpy()[0] == 113
    with pytest.raises(lp.KernelArgumentError, match=r"spec= takes a mapping .* found 5 of type int"):
        queue.parallel_for(4, filtered, out, **given, spec=5)
    filtered[4].on(queue)(out, **given, spec=5)
    assert out.numpy()[0] == 117


def test_a_group_as_a_with_block_has_the_event_afterwards(queue, out):
    group = queue.submit()
    with group as h:
        assert isinstance(h, lp.Handler)
        with pytest.raises(lp.InvalidError, match="once its with block has ended"):
            _ = group.event
        h.parallel_for(lp.NdRange(4, 2), add, out, more=1)
        assert out.numpy().tolist() == [0] * 4  # only the end submits
    assert group.event.wait().done
    assert out.numpy().tolist() == [21] * 4


def test_short_calls_of_the_queue(queue, out):
    queue.parallel_for(4, add, out, more=1)
    queue.parallel_for(3, add, out, spec={AMOUNT: 1})
    queue.single_task(add, out)
    assert out.numpy().tolist() == [42, 22, 22, 21]
    queue.fill(out, 7)
    host = np.zeros(4, np.int32)
    queue.copy(out, host).wait()
    assert host.tolist() == [7] * 4
    queue.copy(host + 1, out)
    other = lp.zeros_like(out, device=queue.device)
    queue.copy(out, other)
    assert other.numpy().tolist() == [8] * 4


def test_a_single_task_has_one_work_item_in_one_group(queue, out):
    queue.single_task(counts, out)
    assert out.numpy()[0] == 11
    out.fill(3)
    queue.parallel_for(4, together, out)
    assert out.numpy().tolist() == [3] * 4


def test_arguments_by_set_arg(queue, out):
    with queue.submit() as h:
        h.set_arg("more", 1)
        h.set_arg(0, out)
        h.parallel_for(4, add)
        h.set_arg("more", 5)
        with pytest.raises(lp.InvalidError, match="position of a parameter"):
            h.set_arg(-1, 0)
        with pytest.raises(lp.InvalidError, match="position of a parameter"):
            h.set_arg(1.5, 0)  # type: ignore[arg-type]
    assert out.numpy().tolist() == [25] * 4
    with queue.submit() as h:
        h.set_args(out, 9)
        h.set_args(out, 3)  # the last counts
        h.parallel_for(4, add)
    assert out.numpy().tolist() == [48] * 4


@pytest.mark.parametrize(
    ("assign", "message"),
    [
        (lambda h: h.set_arg("nothing", 1), "no parameter 'nothing'; its parameters are out, more"),
        (lambda h: h.set_arg(2, 1), "no parameter 2"),
        (lambda h: h.set_arg(0, 1), "expected one value, found two"),
        (lambda h: h.set_args(1), "expected one value, found two"),
        (lambda h: (h.set_arg(1, 1), h.set_arg("more", 1)), "'more': expected one value, found two"),
        (lambda h: h.set_arg(1, "x"), "more"),
    ],
)
def test_wrong_set_args_name_the_parameter(queue, out, assign, message):
    with pytest.raises(lp.KernelArgumentError, match=message), queue.submit() as h:
        assign(h)
        h.parallel_for(4, add, out)
    assert out.numpy().tolist() == [0] * 4


def test_a_second_command_is_invalid_and_nothing_runs(queue, out):
    second = (
        lambda h: h.parallel_for(4, add, out),
        lambda h: h.single_task(add, out),
        lambda h: h.copy(np.zeros(4, np.int32), out),
        lambda h: h.fill(out, 1),
    )
    for command in second:
        with (
            lp.trace() as trace,
            pytest.raises(lp.InvalidError, match="a command group has one command"),
            queue.submit() as h,
        ):
            h.parallel_for(4, add, out)
            command(h)
        assert trace.count("launch") == 0
    assert out.numpy().tolist() == [0] * 4


def test_an_exception_in_the_group_submits_nothing(queue, out):
    def group(h):
        h.parallel_for(4, add, out)
        raise ZeroDivisionError

    with lp.trace() as trace, pytest.raises(ZeroDivisionError):
        queue.submit(group)
    assert trace.count("launch") == 0
    assert out.numpy().tolist() == [0] * 4
    queue.parallel_for(4, add, out)  # the queue stays usable
    assert out.numpy().tolist() == [20] * 4


def test_an_empty_group_is_done(queue):
    assert queue.submit(lambda h: None).done
    with queue.submit():
        pass


def test_an_ended_handler_refuses_everything(queue, out):
    with queue.submit() as h:
        pass
    calls = (
        lambda: h.parallel_for(4, add, out),
        lambda: h.set_arg(0, out),
        lambda: h.set_args(out),
        lambda: h.depends_on(queue.event()),
        lambda: h.copy(out, out),
        lambda: h.fill(out, 1),
        lambda: h.set_specialization_constant(AMOUNT, 1),
        lambda: h.get_specialization_constant(AMOUNT),
        lambda: h.set_spec_constant(AMOUNT, 1),
        lambda: h.get_spec_constant(AMOUNT),
    )
    for call in calls:
        with pytest.raises(lp.InvalidError, match="this command group has ended"):
            call()


def test_a_group_begins_once(queue):
    group = queue.submit()
    with group:
        pass
    with pytest.raises(lp.InvalidError, match="begun before"), group:
        pass


def test_what_is_no_group_or_kernel_is_invalid(queue, out):
    with pytest.raises(lp.InvalidError, match="expects a function of the handler"):
        queue.submit(3)
    for wrong in (None, "add", add.function, lambda: 0):
        with pytest.raises(lp.InvalidError, match="expects a kernel"):
            queue.parallel_for(4, wrong, out)


def test_depends_on_orders_queues(device, out):
    first, second = lp.Queue(device), lp.Queue(device)
    event = first.parallel_for(4, add, out)
    with second.submit() as h:
        h.depends_on(event)
        h.depends_on([event, event])
        h.parallel_for(4, add, out, 1)
    after = second.submit(lambda h: h.depends_on(event))
    assert after.wait().done and event.done
    assert out.numpy().tolist() == [41] * 4
    with pytest.raises(lp.InvalidError, match="depends_on expects"):
        first.submit(lambda h: h.depends_on([3]))
    for value in (3, None, counts):  # a kernel function, which has items without end
        with pytest.raises(lp.InvalidError, match="depends_on expects"):
            first.submit(lambda h, value=value: h.depends_on(value))


def test_copies_and_fills_are_checked(queue, out):
    host = np.zeros(4, np.int32)
    frozen = np.zeros(4, np.int32)
    frozen.flags.writeable = False
    for source, target, message in (
        (host, host, "two NumPy arrays"),
        ([1, 2, 3, 4], out, "source must be an lp.Array, an image or a NumPy array"),
        (out, 3, "target must be"),
        (np.zeros(3, np.int32), out, "shape"),
        (out, np.zeros(4), "dtype"),
        (out, frozen, "read-only"),
    ):
        with pytest.raises(lp.InvalidError, match=message):
            queue.copy(source, target)
    with pytest.raises(lp.InvalidError, match=r"expected an lp\.Array"):
        queue.fill(host, 1)
    with pytest.raises(lp.InvalidError):
        queue.fill(out, 2**40)
    released = lp.zeros(4, lp.i32, device=queue.device)
    released.release()
    with pytest.raises(lp.KernelArgumentError, match="was released"):
        queue.fill(released, 1)


def test_arrays_of_another_device_are_refused(queue):
    others = [d for d in lp.devices() if d is not queue.device]
    if not others:
        pytest.skip("there is one device")
    far = lp.zeros(4, lp.i32, device=others[0])
    for call in (
        lambda: queue.fill(far, 1),
        lambda: queue.copy(far, np.zeros(4, np.int32)),
        lambda: queue.parallel_for(4, add, far),
    ):
        with pytest.raises(lp.KernelArgumentError, match="expected an array on device"):
            call()


def test_an_in_order_queue_runs_in_order(device):
    x = lp.zeros(4, lp.i32, device=device)
    queue = lp.Queue(device, in_order=True)
    assert queue.is_in_order and not lp.Queue(device).is_in_order
    for _ in range(70):  # more than one submission
        queue.parallel_for(4, add, x, spec={AMOUNT: 1})
    queue.wait_and_throw()
    assert x.numpy().tolist() == [70] * 4


def test_an_event_that_nobody_submitted_is_done(device):
    x, queue, last = lp.zeros(4, lp.i32, device=device), lp.Queue(device), lp.Event()
    assert last.done and last.info.command_execution_status == lp.info.event_command_status.complete

    def after(before: lp.Event, h: lp.Handler) -> None:
        h.depends_on(before)
        h.parallel_for(4, add, x, spec={AMOUNT: 1})

    for _ in range(3):
        last = queue.submit(functools.partial(after, last))
    last.wait()
    assert x.numpy().tolist() == [3] * 4


def test_asynchronous_errors_go_to_the_handler_at_the_next_wait(device):
    seen = []
    queue = lp.Queue(device, async_handler=seen.append)
    first, second = lp.Error("one"), lp.Error("two")
    queue.note_error(first)
    queue.note_error(second)
    assert seen == []
    queue.wait()
    queue.throw_asynchronous()
    assert seen == [[first, second]]
    plain = lp.Queue(device)
    plain.note_error(first)
    with pytest.raises(lp.Error, match="one"):
        plain.wait()
    plain.wait()
    with pytest.raises(lp.InvalidError, match="expects a function"):
        lp.Queue(device, async_handler=3)


def test_a_handler_that_raises_keeps_no_queue_open(device):
    def refuse(errors):
        raise ValueError(f"{len(errors)} of mine")

    queue = lp.Queue(device, async_handler=refuse)
    queue.note_error(lp.Error("one"))
    with pytest.raises(ValueError, match="1 of mine"):
        queue.wait()
    assert not queue.is_closed
    queue.wait()

    report = HostReport([], lp.KernelTrap("two"))
    report.add_to(queue, ())
    with pytest.raises(ValueError, match="1 of mine"):
        queue.close()
    assert queue.is_closed
    queue.close()


def test_a_keyword_value_does_not_stay_for_the_next_launch(device):
    @lp.kernel
    def tiled(out: lp.Out[lp.i32], *, TILE: lp.Spec[lp.i32] = 1):
        out[lp.global_id(0)] = TILE

    x, queue = lp.zeros(1, lp.i32, device=device), lp.Queue(device)
    found = []
    for values in ({"TILE": 2}, {}, {"TILE": 3}, {}, {}):
        queue.parallel_for(1, tiled, x, **values)
        found.append(int(x.numpy()[0]))
        tiled[1](x, **values)
        found.append(int(x.numpy()[0]))
    assert found == [2, 2, 1, 1, 3, 3, 1, 1, 1, 1]
