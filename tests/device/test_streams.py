"""``lp.Stream``: text from kernels to a file of the host, with SYCL's manipulators."""

from __future__ import annotations

import gc
import io
import weakref

import numpy as np
import pytest

import lapilli as lp

pytestmark = pytest.mark.device

Stream = lp.Stream


@lp.kernel
def numbers(x: lp.In[lp.f32], n: lp.i32, out: lp.Stream):
    i = lp.global_id(0)
    out << "item " << i << ": " << x[i] << out.endl
    if i == 1:
        out << n << " " << out.hex << n << " " << out.showbase << 255 << out.dec << out.setw(5) << 7 << "|"
        out << Stream.endl << out.fixed << out.setprecision(2) << x[i] << " " << out.scientific << x[i]
        out << "\n" << out.showpos << 3 << " " << out.noshowpos << 3 << " " << (x[i] > 0.0) << f" {n:4d}\n"
        out << lp.f32x2(0.5, x[i]) << out.flush << "\n"


def test_numbers_and_manipulators(device: lp.Device):
    file = io.StringIO()
    x = lp.asarray(np.array([0, 2.25], np.float32), device=device)
    numbers[2](x, -2, Stream(file=file)).wait()
    lines = file.getvalue().splitlines()
    assert "item 0: 0" in lines and "item 1: 2.25" in lines  # as C++ shows them
    at = lines.index("-2 fffffffe 0xff    7|")
    assert lines[at + 1 : at + 4] == ["2.25 2.25e+00", "+3 3 1   -2", "0.5, 2.25"]


@lp.kernel
def each(out: lp.Stream):
    i = lp.global_id(0)
    for k in range(3):
        out << i << "." << k << "\n"


@pytest.mark.behaviour("MEM-08")
def test_statements_come_out_whole_and_in_the_order_of_each_work_item(device: lp.Device, capsys):
    each[100](Stream()).wait()
    lines = [tuple(map(int, line.split("."))) for line in capsys.readouterr().out.splitlines()]
    assert sorted(lines) == [(i, k) for i in range(100) for k in range(3)]
    for i in range(100):
        assert [k for item, k in lines if item == i] == [0, 1, 2]


@pytest.mark.skipif(lp.config.interpret, reason="the interpreter keeps statements without a buffer")
def test_what_finds_no_room_is_counted(device: lp.Device):
    file = io.StringIO()
    stream = Stream(120, file=file)  # 3 words a statement
    each[100](stream).wait()
    *lines, last = file.getvalue().splitlines()
    assert len(lines) == 10 and stream.lost == 290
    assert last == "[lapilli: 290 printed lines of kernel 'each' lost; its streams have 120 bytes]"


def test_long_statements_are_cut_off(device: lp.Device):
    @lp.kernel
    def long(out: lp.Stream):
        out << "0123456789" << lp.global_id(0)

    file = io.StringIO()
    long[2](Stream(1 << 10, 4, file=file)).wait()
    assert file.getvalue() == "01230123"


def helper(out, value):
    print("value", value, sep="=", file=out)


@lp.kernel
def two(first: lp.Stream, x: lp.Array[lp.i32], second: lp.Stream):
    helper(first, x[0])
    helper(second, x[0] + 1)
    print("neither")
    x[0] += 10


@pytest.mark.behaviour("MEM-08")
def test_several_streams_and_print(device: lp.Device, capsys):
    first, second = io.StringIO(), io.StringIO()
    x = lp.zeros(1, lp.i32, device=device)
    streams = Stream(file=first), Stream(file=second)
    two[1](streams[0], x, streams[1])
    two[1](second=streams[0], x=x, first=streams[1])
    assert x.numpy()[0] == 20  # a read is enough
    assert first.getvalue() == "value=0\nvalue=11\n"
    assert second.getvalue() == "value=1\nvalue=10\n"
    assert capsys.readouterr().out == "neither\nneither\n"


def test_a_stream_for_each_launch(device: lp.Device):
    files = [io.StringIO() for _ in range(20)]
    x, queue = lp.asarray(np.arange(1, dtype=np.float32), device=device), lp.Queue(device)
    for file in files:
        numbers[1].on(queue)(x, 0, Stream(file=file))
    queue.wait()
    assert {file.getvalue() for file in files} == {"item 0: 0\n"}
    known = weakref.ref(stream := Stream(file=io.StringIO()))
    numbers[1].on(queue)(x, 0, stream).wait()
    del stream
    gc.collect()
    assert known() is None


@pytest.mark.native_only("compiles another language")
def test_streams_by_set_arg_and_from_source(device: lp.Device):
    text = "import lapilli as lp\n@lp.kernel\ndef k(out: lp.Stream):\n    out << 'here' << lp.Stream.endl\n"
    context = lp.Context([device])
    kb = lp.build(lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.PYTHON, text))
    queue, file = lp.Queue(context=context), io.StringIO()

    def group(h: lp.Handler):
        h.set_arg("out", Stream(file=file))
        h.single_task(kb.ext_oneapi_get_kernel("k"))

    queue.submit(group).wait()
    assert file.getvalue() == "here\n"


@pytest.mark.native_only
def test_streams_in_graphs(device: lp.Device):
    first, second = io.StringIO(), io.StringIO()
    x = lp.asarray(np.arange(1, dtype=np.float32), device=device)
    with lp.graph() as graph:
        numbers[1](x, 0, Stream(file=first))
    graph.replay().wait()
    graph.replay().wait()
    graph.replay(out=Stream(file=second)).wait()
    assert first.getvalue() == "item 0: 0\n" * 2
    assert second.getvalue() == "item 0: 0\n"


def test_streams_in_bundle_files(device: lp.Device, tmp_path):
    context, file = lp.Context([device]), io.StringIO()
    kb = lp.get_kernel_bundle(context, state=lp.BundleState.EXECUTABLE, kernel=each)
    kb.save(tmp_path / "streams.lpk")
    loaded = lp.load_kernel_bundle(context, tmp_path / "streams.lpk")

    def group(h: lp.Handler):
        h.use_kernel_bundle(loaded)
        h.parallel_for(1, each, Stream(file=file))

    lp.Queue(context=context).submit(group).wait()
    assert file.getvalue() == "0.0\n0.1\n0.2\n"


def test_the_interpreter_writes_to_streams():
    from lapilli.frontend.interpretation import interpret

    file = io.StringIO()
    interpret(numbers, 1, (np.zeros(1, np.float32), 0, Stream(file=file)))
    assert file.getvalue() == "item 0: 0\n"


def test_the_host_side():
    stream = Stream(100, 10)
    assert (stream.size, stream.get_size(), stream.work_item_buffer_size) == (100, 100, 10)
    assert (
        stream.get_work_item_buffer_size()
        == stream.get_max_statement_size()
        == stream.max_statement_size
        == 10
    )
    assert stream.lost == 0
    for wrong in (0, -1, 2.5, True, "x", 1 << 40):
        with pytest.raises(lp.InvalidError, match="1 to"):
            Stream(wrong)  # pyright: ignore[reportArgumentType]
        with pytest.raises(lp.InvalidError, match="work_item_buffer_size"):
            Stream(1, wrong)  # pyright: ignore[reportArgumentType]
    with pytest.raises(lp.InvalidError, match="write"):
        Stream(file=3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(lp.InvalidError, match="in kernels"):
        stream << "text"  # pyright: ignore[reportUnusedExpression]


@pytest.mark.parametrize("wrong", [None, 3, "out", io.StringIO()])
def test_arguments_that_are_no_streams(wrong, device: lp.Device):
    with pytest.raises(lp.KernelArgumentError, match=r"'out' .*expected an lp\.Stream"):
        each[1](wrong)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("out << x", "cannot print"),
        ("out + 1", "with <<"),
        ("out << out.setw", "takes a number"),
        ("out << out.setw(x[0])", "literal number"),
        ("out << out.hexfloat", "no attribute 'hexfloat'"),
        ("out.write('x')", "no attribute 'write'"),
        ("print(1, file=x)", "lp.Stream"),
    ],
)
def test_wrong_statements(line: str, message: str):
    text = f"import lapilli as lp\n@lp.kernel\ndef k(x: lp.Array[lp.i32], out: lp.Stream):\n    {line}\n"
    with pytest.raises(lp.CompileError, match=message):
        lp.kernel_from_source(text).inspect("ir")


def test_streams_have_no_defaults():
    with pytest.raises(lp.CompileError, match="streams have none"):

        @lp.kernel
        def k(out: lp.Stream = Stream()):  # noqa: B008
            out << 1  # pyright: ignore[reportUnusedExpression]
