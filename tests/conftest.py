"""The fixture `device`: every test that takes it runs on every Vulkan device present.  And `make_module`.

Without a device these are skipped, and so are the others with the mark `device`.
"""

from __future__ import annotations

import gc
import importlib
import itertools
import os
import signal
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, settings

# What an earlier run compiled must not answer for this one; tests/cache sets it.
os.environ["LAPILLI_CACHE"] = "0"

# Tests count submissions: what is pending waits for them.  tests/vk_runtime/test_flusher.py and others set it.
os.environ.setdefault("LAPILLI_FLUSH_AFTER", "0")

# Our own rules for IR and SPIR-V, which users' compilations leave out.
os.environ.setdefault("LAPILLI_VERIFY", "1")

from lapilli.frontend.process_store import process_store
from lapilli.ir.config import config
from lapilli.vk_runtime.runtime import runtime

pytest_plugins = ["tests.behaviours"]

# Hypothesis fails an example that takes longer than 200 ms, as any does now and then on a busy machine.
settings.register_profile(
    "suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")

_numbers = itertools.count()

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that runs the suite in the background lets it start so, and tests of Ctrl-C would wait for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrises `device`; without any device the test is skipped with the reason."""
    if "device" not in metafunc.fixturenames:
        return
    found = runtime().devices
    if found:
        metafunc.parametrize("device", found, ids=[item.selector for item in found])
    else:
        metafunc.parametrize("device", [pytest.param(None, marks=_without_device())], ids=["none"])


def _without_device() -> pytest.MarkDecorator:
    """Returns the mark of a test that cannot run because there is no device."""
    reasons = "; ".join(f"{r.source}: {r.reason}" for r in runtime().records)
    return pytest.mark.skip(reason=f"no Vulkan device ({reasons})")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts first what takes so long that the other workers would wait for it at the end; skips what has no device."""
    items.sort(key=lambda item: item.get_closest_marker("starts_first") is None)
    of_devices = [item for item in items if item.get_closest_marker("device") is not None]
    if of_devices and not runtime().devices:
        for item in of_devices:
            item.add_marker(_without_device())


def pytest_collection_finish() -> None:
    """Takes what thousands of collected tests are made of out of every later pass of the garbage collector."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`load(name, text)`: writes a Python module and imports it; it is gone after the test."""
    monkeypatch.syspath_prepend(str(tmp_path))
    names: list[str] = []

    def load(name: str, text: str) -> ModuleType:
        (tmp_path / f"{name}.py").write_text("import lapilli as lp\n" + text, encoding="utf-8")
        importlib.invalidate_caches()
        names.append(name)
        return importlib.import_module(name)

    yield load
    for name in names:
        sys.modules.pop(name, None)
    gc.collect()


@pytest.fixture
def make_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Imports a module of the given text, under a name of its own; `lp` is lapilli there."""
    monkeypatch.syspath_prepend(tmp_path)
    names: list[str] = []

    def make(text: str) -> ModuleType:
        name = f"unit_{next(_numbers)}"
        names.append(name)
        (tmp_path / f"{name}.py").write_text(f"import lapilli as lp\n{text}", "utf-8")
        importlib.invalidate_caches()
        return importlib.import_module(name)

    yield make
    for name in names:
        sys.modules.pop(name, None)


@pytest.fixture(autouse=True)
def _compile_anew() -> None:  # pyright: ignore[reportUnusedFunction]
    """Keeps what other tests have compiled from answering for this one."""
    process_store.clear()


@pytest.fixture(autouse=True)
def _native_only(request: pytest.FixtureRequest) -> None:  # pyright: ignore[reportUnusedFunction]
    """Skips what tests devices while launches are interpreted."""
    mark = request.node.get_closest_marker("native_only")
    if mark is not None and config.interpret:
        reason = mark.args[0] if mark.args else "this is about devices"
        pytest.skip(f"launches are interpreted: {reason}")


@pytest.fixture(autouse=True)
def _no_validation_messages(caplog: pytest.LogCaptureFixture):  # pyright: ignore[reportUnusedFunction]
    """Fails a test in which the validation layer complained (LAPILLI_VALIDATE=1)."""
    yield
    complaints = [r.getMessage() for r in caplog.get_records("call") if getattr(r, "vuid", None)]
    assert complaints == []
