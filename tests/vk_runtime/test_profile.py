"""`lp.profile`: what it measures, how it tells, and what it leaves alone."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import threading
from dataclasses import FrozenInstanceError, replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import lapilli as lp
from lapilli.vk_runtime import profile as module
from lapilli.vk_runtime import profile_recording
from lapilli.vk_runtime import trace as trace_module
from lapilli.vk_runtime.calibration import Calibration
from lapilli.vk_runtime.device_features import calibration_extension
from lapilli.vk_runtime.profile_events import ProfileEvent, chrome_trace
from lapilli.vk_runtime.profile_threads import ThreadNames

pytestmark = pytest.mark.native_only("profiles time devices")


@lp.kernel
def grow(x: lp.Array[lp.f32]):
    i = lp.global_id(0)
    x[i] = x[i] + 1.0


def without_timestamps(device: lp.Device) -> lp.Device:
    return device.masked(without=[lp.Aspect.QUEUE_PROFILING])


def of_kind(profile: lp.Profile, kind: str) -> list[lp.ProfileEvent]:
    return [event for event in profile.events if event.kind == kind]


@pytest.mark.device
def test_every_launch_is_timed_on_the_device(device: lp.Device) -> None:
    x = lp.zeros(1000, device=device)
    with lp.profile() as profile:
        for _ in range(100):  # more than fit into one command buffer
            grow[1000](x)
    assert (x.numpy() == 100).all()
    kernels = of_kind(profile, "kernel")
    assert len(kernels) == 100
    for event in kernels:
        assert (event.name, event.clock, event.device, event.queue) == ("grow", "device", device.selector, 1)
        assert 0 < event.duration_ns < profile.duration_ns
        assert event.start_ns >= 0 and event.start_ns + event.duration_ns <= profile.duration_ns * 1.01
    for first, second in pairwise(kernels):
        assert first.start_ns + first.duration_ns <= second.start_ns + 2  # rounding
    assert profile.notes == ()


@pytest.mark.device
def test_queue_keeps_its_way_of_working_after_a_profile(device: lp.Device) -> None:
    queue = lp.Queue(device)
    x = lp.zeros(10, device=device)
    with lp.profile() as profile:
        grow[10].on(queue)(x)
    event = grow[10].on(queue)(x).wait()
    assert len(of_kind(profile, "kernel")) == 1
    with pytest.raises(lp.InvalidError, match="was not timed"):
        _ = event.elapsed_ns
    assert (x.numpy() == 2).all()


@pytest.mark.device
def test_work_before_the_profile_is_not_in_it(device: lp.Device) -> None:
    x = lp.zeros(10, device=device)
    grow[10](x)
    with lp.profile() as profile:
        pass
    assert of_kind(profile, "kernel") == []
    assert (x.numpy() == 1).all()


@pytest.mark.device
def test_profiling_queue_serves_events_and_profiles(device: lp.Device) -> None:
    if not device.has(lp.Aspect.QUEUE_PROFILING):
        pytest.skip("no timestamps")
    queue = lp.Queue(device, profiling=True)
    x = lp.zeros(10, device=device)
    with lp.profile() as outer, lp.profile() as inner:
        event = grow[10].on(queue)(x)
    (found,) = of_kind(outer, "kernel")
    assert found.duration_ns == max(round(event.elapsed_ns), 1)
    assert [e.duration_ns for e in of_kind(inner, "kernel")] == [found.duration_ns]


@lp.kernel
def refuse(x: lp.Array[lp.f32]):
    print("refused")
    assert x[0] > 0.0


@pytest.mark.device
def test_its_end_leaves_what_kernels_report_to_whoever_waits(
    device: lp.Device, capsys: pytest.CaptureFixture[str]
) -> None:
    queue, x = lp.Queue(device), lp.zeros(1, device=device)
    with lp.profile() as profile:
        event = refuse[1].on(queue)(x)
    assert profile.notes == () and capsys.readouterr().out == ""
    with pytest.raises(lp.KernelTrap, match="refuse"):
        event.wait()
    assert capsys.readouterr().out == "refused\n"


@pytest.mark.device
def test_without_timestamps_times_are_the_hosts_and_it_says_so(device: lp.Device) -> None:
    device = without_timestamps(device)
    x = lp.zeros(1000, device=device)
    with lp.profile() as profile:
        grow[1000](x)
    (event,) = of_kind(profile, "kernel")
    assert event.clock == "host" and 0 < event.duration_ns <= profile.duration_ns
    (note,) = profile.notes
    assert device.selector in note and "no timestamps" in note
    assert "no timestamps" in str(profile)


@pytest.mark.device
def test_copies_say_their_bytes(device: lp.Device) -> None:
    with lp.profile() as profile:
        source = lp.asarray(np.arange(1000, dtype=np.float32), device=device)
        target = lp.empty(1000, device=device)
        device.default_queue.copy(source, target)
        target.numpy()
    copies = {event.name: event for event in of_kind(profile, "copy")}
    assert {"upload", "copy", "download"} <= set(copies)
    assert all(copies[name].nbytes == 4000 for name in ("upload", "copy", "download"))
    assert copies["copy"].clock == "device"


@pytest.mark.device
def test_compiling_and_pipelines_are_measured_once(device: lp.Device) -> None:
    @lp.kernel
    def fresh(x: lp.Array[lp.f32]):
        x[lp.global_id(0)] = 3.0

    x = lp.zeros(8, device=device)
    with lp.profile() as first:
        fresh[8](x).wait()
    with lp.profile() as second:
        fresh[8](x).wait()
    stages = [event.name for event in of_kind(first, "compile") if event.name.startswith("fresh: ")]
    assert stages == ["fresh: front end", "fresh: passes", "fresh: lowering", "fresh: emission"]
    assert [event.name for event in of_kind(first, "pipeline")] == ["fresh"]
    assert len(of_kind(first, "wait")) >= 1
    assert of_kind(second, "compile") == [] and of_kind(second, "pipeline") == []


@pytest.mark.device
def test_saved_trace_is_chromes_format(device: lp.Device, tmp_path: Path) -> None:
    x = lp.zeros(10, device=device)
    with lp.profile() as profile:
        grow[10](x)
    path = tmp_path / "trace.json"
    profile.save(path)
    found = json.loads(path.read_text("utf-8"))["traceEvents"]
    (kernel,) = (e for e in found if e.get("cat") == "kernel")
    assert kernel["ph"] == "X" and kernel["name"] == "grow" and kernel["dur"] > 0
    names = {e["pid"]: e["args"]["name"] for e in found if e["name"] == "process_name"}
    assert names[kernel["pid"]] == f"device {device.selector}"
    rows = {e["args"]["name"] for e in found if e["name"] == "thread_name"}
    assert threading.current_thread().name in rows and "queue 1" in rows
    require_chrome_format(found)
    with pytest.raises(lp.InvalidError, match="cannot be written"):
        profile.save(tmp_path / "missing" / "trace.json")


def require_chrome_format(entries: list[dict[str, Any]]) -> None:
    """Checks what Perfetto's importer asks of the JSON: of each phase its members, and names for each row."""
    needs = {"X": {"ts", "dur"}, "i": {"ts", "s"}, "M": {"args"}}
    named: set[tuple[int, int]] = set()
    for entry in entries:
        assert {"name", "ph", "pid", *needs[entry["ph"]]} <= set(entry)
        assert isinstance(entry["name"], str) and isinstance(entry["pid"], int)
        assert all(
            isinstance(entry[key], int | float) and entry[key] >= 0 for key in ("ts", "dur") if key in entry
        )
        if entry["name"] == "thread_name":
            named.add((entry["pid"], entry["tid"]))
    assert named == {(entry["pid"], entry["tid"]) for entry in entries if entry["ph"] != "M"}
    rows: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for entry in entries:
        if entry["ph"] == "X":
            begin, length = (int(entry[key] * 1000) for key in ("ts", "dur"))  # as Perfetto reads them
            rows.setdefault((entry["pid"], entry["tid"]), []).append((begin, begin + length))
    for spans in rows.values():  # in a row they nest or follow each other; Perfetto drops others
        open_ends: list[int] = []
        for begin, end in sorted(spans, key=lambda span: span[0]):  # those that begin together stay in order
            while open_ends and open_ends[-1] <= begin:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1]
            open_ends.append(end)


def test_the_text_is_text_in_a_notebook_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)  # rich asks it before it shows output
    monkeypatch.setenv("FORCE_COLOR", "1")  # as ipykernel does
    with lp.profile() as profile:
        pass
    assert "profile of" in str(profile) and "\x1b" not in str(profile)


def event_at(start_ns: int, **fields: Any) -> ProfileEvent:
    plain = ProfileEvent(kind="kernel", name="k", start_ns=start_ns, duration_ns=1500)
    return replace(plain, **fields)


def test_rows_of_the_trace_are_queues_and_threads() -> None:
    events = [
        event_at(0, device="a", queue=1),
        event_at(5, device="a", queue=2),
        event_at(9, kind="wait", thread=7),
    ]
    found = json.loads(chrome_trace(events, ["note"]))
    intervals = [e for e in found["traceEvents"] if e["ph"] == "X"]
    assert [e["dur"] for e in intervals] == [1.5, 1.5, 1.5]
    assert intervals[0]["pid"] == intervals[1]["pid"] != intervals[2]["pid"]
    assert intervals[0]["tid"] != intervals[1]["tid"]
    assert found["otherData"]["notes"] == ["note"]


def test_perfetto_drops_nothing_of_the_trace() -> None:
    events = [
        *(event_at(start, duration_ns=length, device="a", queue=1)  # overlapping, as the host times commands
          for start, length in ((0, 100), (0, 200), (0, 300), (150, 400), (180, 500), (400, 50), (700, 1))),
        *(event_at(start, duration_ns=1, device="a", queue=2) for start in range(1001, 9999)),  # each behind the last
        *(event_at(start, duration_ns=length, kind="compile", thread=7) for start, length in ((5, 10), (5, 40))),
    ]  # fmt: skip
    text = chrome_trace(events, [])
    assert text.startswith('{"displayTimeUnit":"ns"')  # behind the events it is too late
    found = json.loads(text)["traceEvents"]
    require_chrome_format(found)
    intervals = [entry for entry in found if entry["ph"] == "X"]
    read = sorted((int(entry["ts"] * 1000), int(entry["dur"] * 1000)) for entry in intervals)
    assert read == sorted((event.start_ns, event.duration_ns) for event in events)
    of_second = {entry["tid"] for entry in intervals if entry["args"].get("queue") == 2}
    assert len(of_second) == 1


@pytest.mark.device
def test_commands_that_the_host_times_are_all_in_the_trace(device: lp.Device) -> None:
    plain = device.masked(without=[lp.Aspect.QUEUE_PROFILING])
    x = lp.zeros(10, device=plain)
    with lp.profile() as profile:
        for _ in range(100):
            grow[10](x)
        x.numpy()
    require_chrome_format(json.loads(chrome_trace(profile.events, []))["traceEvents"])


@pytest.mark.device
def test_threads_keep_their_names_when_they_have_ended(device: lp.Device, tmp_path: Path) -> None:
    x, file = lp.zeros(10, device=device), tmp_path / "trace.json"
    with lp.profile() as profile:
        for name in ("loader", "solver", "solver"):  # mostly with one number, one after the other
            thread = threading.Thread(target=lambda: grow[10](x).wait(), name=name)
            thread.start()
            thread.join()
    profile.save(file)
    found = json.loads(file.read_text("utf-8"))["traceEvents"]
    names = " ".join(entry["args"]["name"] for entry in found if entry["name"] == "thread_name")
    assert "loader" in names and ("loader and 1 more" in names or "solver" in names)


def test_of_a_thread_for_each_request_one_name_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = ThreadNames()
    for name in ("request 1", "request 1", *(f"request {number}" for number in range(2, 1001))):
        monkeypatch.setattr(threading.current_thread(), "name", name)
        assert threads.note() == threading.get_ident()
    assert threads.shown() == {threading.get_ident(): "request 1 and 999 more"}
    assert "request 500" not in repr(vars(threads))


def test_events_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        event_at(0).name = "other"  # type: ignore[misc]


class FakeQueue:
    """A queue of a device with a given clock."""

    is_closed = True

    def __init__(self, clock: Any) -> None:
        self.device = SimpleNamespace(logical=SimpleNamespace(physical=clock), selector="d")


def test_a_counter_that_wraps_goes_on() -> None:
    clock: Any = SimpleNamespace(timestamp_valid_bits=32, limits=SimpleNamespace(timestamp_period_ns=2.0))
    queue = FakeQueue(clock)
    wrap_ns = 2 << 32
    profile = lp.profile()
    command = module.Command("kernel", "k", cast(Any, queue), 0, (profile,))
    base = module.now()
    for stamp, after_ns in ((2**32 - 10, 0), (40, 100), (90, 200), (140, 300 + 3 * wrap_ns)):
        profile.add_command(command, base + after_ns, (stamp, 5))
    starts = [event.start_ns for event in profile.events]
    assert [start - starts[0] for start in starts] == [0, 100, 200, 300 + 3 * wrap_ns]
    assert all(event.duration_ns == 10 for event in profile.events)


def test_no_command_starts_before_its_submission() -> None:
    clock: Any = SimpleNamespace(timestamp_valid_bits=64, limits=SimpleNamespace(timestamp_period_ns=1.0))
    queue = FakeQueue(clock)
    profile = lp.profile()
    command = module.Command("kernel", "k", cast(Any, queue), 0, (profile,))
    base = module.now()
    for stamp, submitted in ((10**18 + 700, 0), (10**18 + 1500, 1000), (10**18 + 2900, 2000)):
        profile.add_command(command, base + submitted, (stamp, 100))
    assert [event.queued_ns for event in profile.events] == [200, 0, 400]


def test_too_many_events_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile_recording, "MAX_EVENTS", 2)
    with lp.profile() as profile:
        for _ in range(5):
            with module.span("copy", "upload"):
                pass
    assert len(profile.events) == 2
    assert profile.notes == ("3 events more than 2 were left out",)


def test_a_profile_runs_once_and_leaves_nothing_behind() -> None:
    profile = lp.profile()
    with profile, pytest.raises(lp.InvalidError, match="runs already"):
        profile.__enter__()
    with pytest.raises(lp.InvalidError, match="has ended"):
        profile.__enter__()
    assert profile not in module.active and cast(Any, profile) not in trace_module.active


@pytest.mark.device
def test_names_with_brackets_stand_in_the_table_as_they_are(device: lp.Device, tmp_path: Path) -> None:
    text = "@lp.kernel(name={name!r})\ndef k(x: lp.Array[lp.f32]):\n    x[lp.global_id(0)] += 1.0\n"
    x = lp.zeros(4, device=device)
    with lp.profile() as profile:
        for name in ("grow[f32]", "end[/b]"):
            lp.kernel_from_source(text.format(name=name))[4](x)
    assert "grow[f32]" in str(profile) and "end[/b]" in str(profile)
    profile.save(os.fsencode(tmp_path / "trace.json"))
    names = {event["name"] for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]}
    assert {"grow[f32]", "end[/b]"} <= names


def test_a_notebook_shows_the_table() -> None:
    shown: list[str] = []
    profile = lp.profile()
    profile.add_host("copy", "upload", module.now(), 0, nbytes=8)
    profile._repr_pretty_(SimpleNamespace(text=shown.append), False)
    assert "upload" in shown[0] and "total ms" in shown[0]


def test_pandas_or_a_clear_error() -> None:
    profile = lp.profile()
    profile.add_host("copy", "upload", module.now(), module.now() + 5, nbytes=8)
    if importlib.util.find_spec("pandas") is None:
        with pytest.raises(lp.FeatureNotSupportedError, match="needs pandas"):
            profile.to_pandas()
    else:
        assert list(profile.to_pandas()["nbytes"]) == [8]


def test_pandas_gets_a_column_for_each_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", cast(Any, SimpleNamespace(DataFrame=dict)))
    profile = lp.profile()
    profile.add_host("copy", "upload", module.now(), 0, nbytes=8)
    frame = profile.to_pandas()
    assert frame["kind"] == ["copy"] and frame["nbytes"] == [8] and frame["duration_ns"] == [0]


PROGRAM = """
import lapilli as lp
@lp.kernel
def grow(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = x[lp.global_id(0)] + 1.0
x = lp.zeros(16)
grow[16](x)  # nobody waits
"""


@pytest.mark.device
def test_option_profiles_the_process(tmp_path: Path) -> None:
    program, path = tmp_path / "program.py", tmp_path / "trace.json"
    program.write_text(PROGRAM, "utf-8")
    for target, expected in ((path, ""), (tmp_path / "no" / "trace.json", "cannot be written")):
        done = subprocess.run(
            (sys.executable, str(program)),
            env={**os.environ, "LAPILLI_PROFILE": str(target)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert expected in done.stderr and (expected or not done.stderr)
    kinds = {event.get("cat") for event in json.loads(path.read_text("utf-8"))["traceEvents"]}
    assert {"kernel", "compile", "pipeline"} <= kinds


@pytest.mark.device
def test_replays_of_graphs_are_timed_command_by_command(device: lp.Device) -> None:
    x, y = lp.zeros(100, device=device), lp.zeros(100, device=device)
    with lp.graph() as graph:
        for _ in range(100):  # more than fit into one command buffer
            grow[100](x)
        y.copy_from(x)
        y.fill(3)
        grow[100](y)
    graph.replay().wait()
    with lp.profile() as profile:
        graph.replay()
        graph.replay().wait()
    assert (x.numpy() == 300).all() and (y.numpy() == 4).all()
    kernels = of_kind(profile, "kernel")
    assert [event.name for event in kernels] == ["grow"] * 202
    assert {event.clock for event in kernels} == {"device"}
    assert [event.name for event in of_kind(profile, "graph")] == ["replay"] * 2
    copies = [(event.name, event.nbytes) for event in of_kind(profile, "copy") if event.clock == "device"]
    assert sorted(copies) == [("copy", 400)] * 2 + [("fill", 400)] * 2
    graph.replay().wait()
    assert (x.numpy() == 400).all()


@pytest.mark.device
def test_clocks_are_tied_where_the_driver_reads_both(device: lp.Device) -> None:
    x = lp.zeros(1000, device=device)
    with lp.profile() as profile:
        before = module.now()
        grow[1000](x).wait()
        after = module.now()
    extensions = device.physical.extensions
    is_calibrated = sys.platform == "linux" and calibration_extension(extensions) is not None
    assert (device.selector in profile.calibrated) == is_calibrated
    (kernel,) = of_kind(profile, "kernel")
    if is_calibrated:
        begin = cast(Any, profile)._start_ns + kernel.start_ns
        slack = 2 * profile.calibrated[device.selector] + 1000
        assert before - slack <= begin
        assert begin + kernel.duration_ns <= after + slack


def test_two_readings_say_how_fast_a_clock_runs() -> None:
    """A clock of 32 bits that is 0.1 % fast, read at both ends of a second in which it begins anew."""
    clock: Any = SimpleNamespace(timestamp_valid_bits=32, limits=SimpleNamespace(timestamp_period_ns=1.0))
    queue = FakeQueue(clock)
    profile = lp.profile()
    command = module.Command("kernel", "k", cast(Any, queue), 0, (profile,))
    base, first = module.now(), 2**32 - 500_000_000
    for at in (100_000_000, 900_000_000):
        stamp = (first + round(at * 1.001)) % 2**32
        profile.add_command(command, base + at, (stamp, 5))
    readings = [Calibration((first + round(at * 1.001)) % 2**32, base + at, 50) for at in (0, 1_000_000_000)]
    cast(Any, profile)._clocks._readings[id(clock)] = "d", readings
    starts = [event.start_ns + cast(Any, profile)._start_ns - base for event in profile.events]
    assert all(abs(found - at) <= 2 for found, at in zip(starts, (100_000_000, 900_000_000), strict=True))
    assert profile.calibrated == {"d": 50}


def test_gaps_are_what_lies_between_the_commands_of_a_queue() -> None:
    clock: Any = SimpleNamespace(timestamp_valid_bits=64, limits=SimpleNamespace(timestamp_period_ns=1.0))
    queue = FakeQueue(clock)
    profile = lp.profile()
    command = module.Command("kernel", "k", cast(Any, queue), 0, (profile,))
    base = module.now()
    for stamp, elapsed in ((1000, 100), (1100, 50), (1400, 10)):
        profile.add_command(command, base, (stamp, elapsed))
    assert [event.gap_ns for event in profile.events] == [0, 0, 250]
    assert "gap ms" in str(profile)


@pytest.mark.device
def test_a_profile_that_another_thread_ends_while_a_graph_is_replayed(
    device: lp.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is recorded then is not timed: its timestamps would have to be reset first."""
    x, queue = lp.zeros(64, device=device), lp.Queue(device)
    stamps: list[tuple[Any, ...]] = []
    with lp.graph() as g:
        grow[64](x)
    vk = device.logical.vk
    write = vk.vkCmdWriteTimestamp
    monkeypatch.setattr(vk, "vkCmdWriteTimestamp", lambda *args: (stamps.append(args), write(*args)))
    with lp.profile():
        g.replay(queue).wait()  # it has timestamps from here on
        timed = len(stamps)
        with monkeypatch.context() as patch:
            patch.setattr(module, "note_replay", lambda _: patch.setattr(module, "active", []))
            g.replay(queue)
    queue.wait()
    assert timed == len(stamps) and (x.numpy() == 2).all()
