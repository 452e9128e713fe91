"""The pytest plugin that users get; in processes of its own, as users run it."""

from __future__ import annotations

from pathlib import Path

import pytest

import lapilli as lp
from tests.run_pytest import run_pytest

PLUGIN = ("-p", "lapilli.tools.pytest_plugin")


@pytest.mark.device
def test_a_test_runs_once_on_each_device(tmp_path: Path):
    source = """
        import lapilli as lp

        @lp.kernel
        def double(a: lp.Array[lp.i32]):
            a[lp.global_id(0)] *= 2

        def test_double(lapilli_device):
            a = lp.ones(4, dtype=lp.i32, device=lapilli_device)
            double[4](a)
            assert a.numpy().tolist() == [2] * 4
    """
    result = run_pytest(tmp_path, source, *PLUGIN, "-v")
    assert result.outcomes == {"passed": len(lp.devices())}
    for device in lp.devices():
        assert f"test_double[{device.selector}] PASSED" in result.output


@pytest.mark.device
def test_what_a_test_leaves_behind_is_its_own(tmp_path: Path):
    source = """
        import lapilli as lp

        @lp.kernel
        def check(a: lp.Array[lp.i32]):
            assert a[lp.global_id(0)] == 1

        @lp.kernel
        def set_to(a: lp.Array[lp.i32], v: lp.i32):
            a[lp.global_id(0)] = v

        def test_that_waits_for_nothing(lapilli_device):
            check[4](lp.zeros(4, dtype=lp.i32, device=lapilli_device))

        def test_on_two_queues(lapilli_device):
            for queue in (lp.Queue(lapilli_device), lp.Queue(lapilli_device)):
                check[4].on(queue)(lp.zeros(4, dtype=lp.i32, device=lapilli_device))
            assert len({queue}) == 1

        def test_that_fails_by_itself(lapilli_device):
            check[4](lp.zeros(4, dtype=lp.i32, device=lapilli_device))
            assert False, "of the host"

        def test_that_expects_it(lapilli_device):
            a = lp.zeros(4, dtype=lp.i32, device=lapilli_device)
            try:
                check[4](a).wait()
            except lp.KernelTrap:
                pass

        def test_of_another_kernel(lapilli_device):
            a = lp.zeros(4, dtype=lp.i32, device=lapilli_device)
            set_to[4](a, 2).wait()
            assert a.numpy().tolist() == [2] * 4
    """
    result = run_pytest(tmp_path, source, *PLUGIN, "-v")
    assert result.outcomes == {"failed": 3 * len(lp.devices()), "passed": 2 * len(lp.devices())}
    for device in lp.devices():
        for name, outcome in (
            ("that_waits_for_nothing", "FAILED"),
            ("on_two_queues", "FAILED"),
            ("that_fails_by_itself", "FAILED"),
            ("that_expects_it", "PASSED"),
            ("of_another_kernel", "PASSED"),
        ):
            assert f"test_{name}[{device.selector}] {outcome}" in result.output
    assert "AssertionError: of the host" in result.output


@pytest.mark.device
def test_ctrl_c_ends_a_test_without_another_wait(tmp_path: Path):
    source = """
        from lapilli.tools import pytest_plugin

        pytest_plugin._wait_for = lambda device: print("waited")

        def test_it(lapilli_device):
            raise KeyboardInterrupt
    """
    result = run_pytest(tmp_path, source, *PLUGIN, "-s")
    assert "KeyboardInterrupt" in result.output
    assert "waited" not in result.output


@pytest.mark.device
def test_a_device_that_lacks_an_aspect_is_skipped_with_the_reason(tmp_path: Path):
    source = """
        import pytest

        @pytest.mark.aspects("custom")
        def test_it(lapilli_device): raise AssertionError

        @pytest.mark.aspects("vk_subgroup_basic")
        def test_other(lapilli_device): pass
    """
    result = run_pytest(tmp_path, source, *PLUGIN, "-rs")
    count = len(lp.devices())
    assert result.outcomes == {"passed": count, "skipped": count}
    assert "lacks custom" in result.output


@pytest.mark.device
def test_an_unknown_aspect_is_named(tmp_path: Path):
    source = """
        import pytest

        @pytest.mark.aspects("fp65")
        def test_it(lapilli_device): pass
    """
    output = run_pytest(tmp_path, source, *PLUGIN).output
    assert "there is no aspect 'fp65'; near it: fp64, fp16" in output
    assert "pytest_plugin.py" not in output  # the user's mistake, and no traceback of the plugin


@pytest.mark.device
def test_a_test_that_takes_no_device_is_skipped_where_the_default_lacks_an_aspect(tmp_path: Path):
    source = """
        import pytest

        @pytest.mark.aspects("custom")
        def test_it(): raise AssertionError

        @pytest.mark.aspects("online_compiler")
        def test_other(): pass
    """
    result = run_pytest(tmp_path, source, *PLUGIN, "-rs")
    assert result.outcomes == {"passed": 1, "skipped": 1}
    assert f"device '{lp.device().name}' lacks custom" in result.output


@pytest.mark.device
def test_devices_can_be_chosen(tmp_path: Path):
    device = lp.devices()[-1]
    source = "def test_it(lapilli_device): assert lapilli_device is not None"
    result = run_pytest(tmp_path, source, *PLUGIN, "--lapilli-device", device.selector)
    assert result.outcomes == {"passed": 1}
    result = run_pytest(tmp_path, source, *PLUGIN, "--lapilli-device", "voodoo")
    assert result.status == pytest.ExitCode.USAGE_ERROR
    assert "'voodoo' matches no device" in result.output and "Traceback" not in result.output


def test_without_a_device_tests_are_skipped_unless_one_is_required(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    source = "def test_it(lapilli_device): raise AssertionError"
    monkeypatch.setenv("VK_DRIVER_FILES", "/nonexistent.json")
    monkeypatch.setenv("LAPILLI_SWIFTSHADER", "")
    assert run_pytest(tmp_path, source, *PLUGIN, "-rs").outcomes == {"skipped": 1}
    assert (
        run_pytest(tmp_path, source, *PLUGIN, "--lapilli-require-device").status
        == pytest.ExitCode.USAGE_ERROR
    )
