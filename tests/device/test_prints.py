"""``print`` in kernels: to sys.stdout at the next synchronisation, formatted as Python would."""

from __future__ import annotations

import io
import math
import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime import print_order

NAME = "captured"
PAIR = (1, 2.5)


@lp.struct
class Point:
    x: lp.f32
    y: lp.i32


@lp.kernel
def everything(s: lp.f32, n: lp.i32, u: lp.u32, out: lp.Array[lp.i32]):
    print()
    print("text", 1, -2, 2.5, True, None, NAME, PAIR)
    print(s, n, u, n < 0, -s, s / 3.0, lp.f32(n) * 1e20, 1.0 / lp.f32(n - n), (s - s) / lp.f32(n - n))
    print(s, n, sep="", end="!\n")
    print(s, n, sep=None, end=None, flush=True)
    print(lp.f32x2(s, 1.0), Point(s, n), (s, n), (n,), lp.FixedArray[lp.f32, 2](s, 2.0))
    print(f"{n} {n:5d}|{n:<5}|{n:+}|{u:x}|{s:.3f}|{s:8.2e}|{s!r}|{n < 0}|{{}}|{NAME:>10}|{n=}")
    out[0] = n


def expected(s: float, n: int, u: int) -> str:
    third = np.float32(s) / np.float32(3)
    shown = repr(float(str(third)))
    product = repr(float(str(np.float32(n) * np.float32(1e20))))
    return (
        "\n"
        "text 1 -2 2.5 True None captured (1, 2.5)\n"
        f"{s} {n} {u} {n < 0} {-s} {shown} {product} inf nan\n"
        f"{s}{n}!\n"
        f"{s} {n}\n"
        f"lp.f32x2({s}, 1.0) Point(x={s}, y={n}) ({s}, {n}) ({n},) [{s}, 2.0]\n"
        f"{n} {n:5d}|{n:<5}|{n:+}|{u:x}|{s:.3f}|{s:8.2e}|{s!r}|{n < 0}|{{}}|{NAME:>10}|n={n}\n"
    )


def test_as_python_would(device, capsys) -> None:
    out = lp.zeros(1, lp.i32, device=device)
    everything[1](0.5, -7, 4_000_000_000, out).wait()
    assert capsys.readouterr().out == expected(0.5, -7, 4_000_000_000)


def test_numbers_of_32_bits_have_their_own_digits(device, capsys) -> None:
    @lp.kernel
    def show(x: lp.In[lp.f32]):
        print(x[lp.global_id(0)])

    values = np.array([0.1, 1e-7, 1e20, 123456.7, -0.0, math.inf, 16777216.0], np.float32)
    for value in values:
        show[1](lp.asarray(np.array([value]), device=device)).wait()
        assert capsys.readouterr().out == f"{float(str(value))!r}\n"


@pytest.mark.parametrize("dtype", ["i8", "i16", "i64", "u8", "u16", "u64", "f16", "f64"])
def test_other_types(dtype: str, device, capsys) -> None:
    kind = getattr(lp, dtype)

    @lp.kernel
    def show(x: lp.Array[kind], out: lp.Array[kind]):
        print(x[0], x[1], f"{x[0]}")
        out[0] = x[0]

    number = np.dtype(_name(dtype))
    low = np.iinfo(number).min if number.kind in "iu" else -0.1
    high = np.iinfo(number).max if number.kind in "iu" else 1e3
    values = np.array([low, high], number)
    try:
        show[1](lp.asarray(values, device=device), lp.zeros(1, kind, device=device)).wait()
    except lp.KernelNotSupportedError as error:
        pytest.skip(str(error).splitlines()[0])
    first, second = (repr(float(str(v))) if number.kind == "f" else str(v) for v in values)
    assert capsys.readouterr().out == f"{first} {second} {first}\n"


def _name(dtype: str) -> str:
    kinds = {"i": "int", "u": "uint", "f": "float"}
    return kinds[dtype[0]] + dtype[1:]


def test_each_work_item_prints_in_order(device, capsys) -> None:
    @lp.kernel
    def steps(n: lp.i32):
        i = lp.global_id(0)
        for k in range(n):
            print(i, k)

    steps[64](5).wait()
    lines = [tuple(map(int, line.split())) for line in capsys.readouterr().out.splitlines()]
    assert sorted(lines) == [(i, k) for i in range(64) for k in range(5)]
    for i in range(64):
        assert [k for item, k in lines if item == i] == list(range(5))


def test_launches_print_in_order(device, capsys) -> None:
    @lp.kernel
    def step(n: lp.i32, x: lp.Array[lp.i32]):
        x[0] += 1
        print("launch", n)

    x = lp.zeros(1, lp.i32, device=device)
    for n in range(100):
        step[1](n, x)
    assert capsys.readouterr().out == ""
    assert x.numpy()[0] == 100
    assert capsys.readouterr().out == "".join(f"launch {n}\n" for n in range(100))
    device.default_queue.wait()
    assert capsys.readouterr().out == ""


@lp.kernel
def first(n: lp.i32, out: lp.Out[lp.i32]):
    print("first", n, lp.global_id(0))
    out[lp.global_id(0)] = n


@lp.kernel
def second(n: lp.i32, out: lp.Out[lp.i32]):
    print("second", n)
    out[lp.global_id(0)] = n


def test_launches_of_several_kernels_print_in_order(device, capsys) -> None:
    """Also where they touch nothing in common, and behind more of them than one submission has."""
    queue, expected = lp.Queue(device), []
    x, y = lp.zeros(3, lp.i32, device=device), lp.zeros(1, lp.i32, device=device)
    chooser = random.Random(2)
    for n in range(300):
        if chooser.random() < 0.5:
            first[3].on(queue)(n, x)
            expected += [("first", n)] * 3
        else:
            second[1].on(queue)(n, y)
            expected += [("second", n)]
        if n in (150, 151, 220):
            queue.wait()
    queue.wait()
    found = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert found == [[kernel, str(n)] for kernel, n in expected]


def test_kernels_in_turn_with_the_same_arguments_print_in_order(device, capsys) -> None:
    queue = lp.Queue(device)
    x, y = lp.zeros(1, lp.i32, device=device), lp.zeros(1, lp.i32, device=device)
    for _ in range(6):
        first[1].on(queue)(1, x)
        second[1].on(queue)(2, y)
    queue.wait()
    assert capsys.readouterr().out == "first 1 0\nsecond 2\n" * 6


def test_waits_for_earlier_launches_keep_the_order(device, capsys) -> None:
    queue = lp.Queue(device)
    x, y = lp.zeros(1, lp.i32, device=device), lp.zeros(1, lp.i32, device=device)
    earlier = first[1].on(queue)(0, x).wait()
    for n in range(1, 6):
        first[1].on(queue)(n, x)
        earlier.wait()
        second[1].on(queue)(n, y)
        earlier.wait()
    queue.wait()
    expected = "first 0 0\n" + "".join(f"first {n} 0\nsecond {n}\n" for n in range(1, 6))
    assert capsys.readouterr().out == expected


def test_streams_and_prints_come_in_order(device, capsys) -> None:
    @lp.kernel
    def tell(n: lp.i32, out: lp.Stream):
        out << "told " << n << lp.Stream.endl

    queue, stream = lp.Queue(device), lp.Stream(4096, 80)
    y = lp.zeros(1, lp.i32, device=device)
    for n in range(5):
        tell[1].on(queue)(n, stream)
        second[1].on(queue)(n, y)
    queue.wait()
    assert capsys.readouterr().out == "".join(f"told {n}\nsecond {n}\n" for n in range(5))


@pytest.mark.native_only("the interpreter keeps lines without a buffer")
def test_kernels_that_change_too_often_lose_their_order_and_no_line(device, capsys, monkeypatch) -> None:
    monkeypatch.setattr(print_order, "MARK_LIMIT", 4)
    queue = lp.Queue(device)
    x, y = lp.zeros(1, lp.i32, device=device), lp.zeros(1, lp.i32, device=device)
    for n in range(9):
        first[1].on(queue)(n, x)
        second[1].on(queue)(n, y)
    queue.wait()
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == ["first 0 0", "second 0", "first 1 0", "second 1"]
    assert sorted(lines) == sorted([*(f"first {n} 0" for n in range(9)), *(f"second {n}" for n in range(9))])
    first[1].on(queue)(1, x)
    second[1].on(queue)(2, y)
    first[1].on(queue)(3, x)
    queue.wait()
    assert capsys.readouterr().out == "first 1 0\nsecond 2\nfirst 3 0\n"


@pytest.mark.native_only("graphs are not interpreted")
def test_replays_print_one_after_the_other(device, capsys) -> None:
    queue = lp.Queue(device)
    x, y = lp.zeros(1, lp.i32, device=device), lp.zeros(1, lp.i32, device=device)
    with lp.graph() as graph:
        first[1].on(queue)(0, x)
        second[1].on(queue)(0, y)
    second[1].on(queue)(7, y)
    graph.replay(queue)
    graph.replay(queue)
    first[1].on(queue)(8, x)
    queue.wait()
    assert capsys.readouterr().out == "second 7\nfirst 0 0\nsecond 0\nfirst 0 0\nsecond 0\nfirst 8 0\n"


@pytest.mark.skipif(lp.config.interpret, reason="the interpreter keeps lines without a buffer")
def test_lost_lines_are_counted(device, capsys, monkeypatch) -> None:
    monkeypatch.setenv("LAPILLI_PRINT_SIZE", "80")

    @lp.kernel
    def chatter():
        print("item", lp.global_id(0))

    chatter[100]().wait()
    *lines, last = capsys.readouterr().out.splitlines()
    assert len(lines) == 10  # 2 words each
    assert last == "[lapilli: 90 printed lines of kernel 'chatter' lost; LAPILLI_PRINT_SIZE is 80 bytes]"
    chatter[3]().wait()
    assert sorted(capsys.readouterr().out.splitlines()) == ["item 0", "item 1", "item 2"]


@pytest.mark.skipif(lp.config.interpret, reason="the interpreter keeps lines without a buffer")
@pytest.mark.native_only("masks lower limits of devices")
def test_a_mask_leaves_room_for_what_fits(device, capsys) -> None:
    masked = device.masked(limits={"maxBufferSize": 4096})
    first[1](5, lp.zeros(1, lp.i32, device=masked)).wait()
    assert capsys.readouterr().out == "first 5 0\n"


@pytest.mark.skipif(lp.config.interpret, reason="the interpreter keeps lines without a buffer")
@pytest.mark.native_only("masks lower limits of devices")
def test_a_mask_without_room_for_a_report_is_said(device) -> None:
    masked = device.masked(limits={"maxStorageBufferRange": 16})
    with pytest.raises(lp.KernelNotSupportedError, match="'first' checks or prints, which takes a buffer of"):
        first[1](5, lp.zeros(1, lp.i32, device=masked))


@pytest.mark.skipif(lp.config.interpret, reason="the interpreter keeps lines without a buffer")
@pytest.mark.parametrize("text", ["-1", "many"])
def test_a_wrong_size_is_refused(text: str, device, monkeypatch) -> None:
    monkeypatch.setenv("LAPILLI_PRINT_SIZE", text)

    @lp.kernel
    def chatter():
        print("item", lp.global_id(0))

    with pytest.raises(lp.InvalidError, match="LAPILLI_PRINT_SIZE"):
        chatter[1]()


def test_lines_before_a_failure_are_printed(device, capsys) -> None:
    @lp.kernel
    def fails(x: lp.Array[lp.i32]):
        print("before")
        assert x[0] == 1

    x = lp.zeros(1, lp.i32, device=device)
    with pytest.raises(lp.KernelTrap):
        fails[1](x).wait()
    assert capsys.readouterr().out == "before\n"


def test_prints_of_two_queues(device, capsys) -> None:
    @lp.kernel
    def tell(n: lp.i32):
        print(n)

    first, second = lp.Queue(device), lp.Queue(device)
    tell[1].on(first)(1)
    tell[1].on(second)(2)
    second.wait()
    assert capsys.readouterr().out == "2\n"
    first.wait()
    assert capsys.readouterr().out == "1\n"


@lp.kernel
def chain(launch: lp.i32):
    i = lp.global_id(0)
    print("first", launch, i)
    print("then", launch, i)


def _check_order(text: str, launches: list[int], items: int) -> None:
    """Checks that every work-item of every launch printed its two lines, in their order."""
    words = [line.split() for line in text.splitlines()]
    for launch in launches:
        for item in range(items):
            own = [word for word, *rest in words if rest == [str(launch), str(item)]]
            assert own == ["first", "then"]
    assert len(words) == 2 * len(launches) * items


@pytest.mark.native_only("graphs are not interpreted")
def test_replays_of_a_graph_print(device, capsys) -> None:
    queue = lp.Queue(device)
    with lp.graph() as graph:
        chain[20].on(queue)(0)
        chain[20].on(queue)(1)
    graph.replay().wait()
    _check_order(capsys.readouterr().out, [0, 1], 20)
    graph.replay()
    graph.replay().wait()
    lines = capsys.readouterr().out.splitlines()
    assert lines.count("first 0 7") == lines.count("then 1 19") == 2


def test_threads_print(device, capsys) -> None:
    def work(number: int) -> None:
        queue = lp.Queue(device)
        for k in range(5):
            chain[30].on(queue)(10 * number + k)
            queue.wait()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    _check_order(capsys.readouterr().out, [10 * n + k for n in range(4) for k in range(5)], 30)


class _Notebook:
    """A sys.stdout with what Jupyter's has of a file."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        """Does nothing."""


def test_sys_stdout_is_what_it_is_when_somebody_waits(device, monkeypatch) -> None:
    queue, notebook = lp.Queue(device), _Notebook()
    chain[3].on(queue)(1)
    monkeypatch.setattr("sys.stdout", notebook)
    queue.wait()
    _check_order(notebook.text, [1], 3)
    monkeypatch.setattr("sys.stdout", None)  # as under pythonw, where Python's print does nothing
    chain[3].on(queue)(1)
    queue.wait()
    ascii_only = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", ascii_only)
    accents[1].on(queue)()
    queue.wait()
    ascii_only.flush()
    assert ascii_only.buffer.getvalue() == b"caf\\xe9 0\n"


@lp.kernel
def accents():
    print("café", lp.global_id(0))


def test_a_sys_stdout_that_is_closed_hides_no_failure(device, monkeypatch) -> None:
    @lp.kernel
    def fails(n: lp.i32):
        print("before")
        assert n == 1

    queue, closed = lp.Queue(device), io.StringIO()
    closed.close()
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", closed)
        fails[1].on(queue)(0)
        with pytest.raises(ValueError, match="closed file"):
            queue.wait()
    with pytest.raises(lp.KernelTrap, match="assert n == 1"):
        queue.wait()
