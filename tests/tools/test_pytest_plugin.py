"""The pytest plugin that users get; in processes of its own, for pytester unloads what a run has imported."""

from __future__ import annotations

import pytest

import lapilli as lp

PLUGIN = ("-p", "lapilli.tools.pytest_plugin", "-p", "no:cacheprovider")


@pytest.fixture(autouse=True)
def _installed_plugin_is_off(monkeypatch: pytest.MonkeyPatch):  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # it is named once, by PLUGIN


def test_a_test_runs_once_on_each_device(pytester: pytest.Pytester):
    pytester.makepyfile(
        """
        import lapilli as lp

        @lp.kernel
        def double(a: lp.Array[lp.i32]):
            a[lp.global_id(0)] *= 2

        def test_double(lapilli_device):
            a = lp.ones(4, dtype=lp.i32, device=lapilli_device)
            double[4](a)
            assert a.numpy().tolist() == [2] * 4
        """
    )
    result = pytester.runpytest_subprocess(*PLUGIN, "-v")
    result.assert_outcomes(passed=len(lp.devices()))
    result.stdout.fnmatch_lines([f"*test_double?{device.selector}? PASSED*" for device in lp.devices()])


def test_a_device_that_lacks_an_aspect_is_skipped_with_the_reason(pytester: pytest.Pytester):
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.aspects("custom")
        def test_it(lapilli_device): raise AssertionError

        @pytest.mark.aspects("vk_subgroup_basic")
        def test_other(lapilli_device): pass
        """
    )
    result = pytester.runpytest_subprocess(*PLUGIN, "-rs")
    count = len(lp.devices())
    result.assert_outcomes(skipped=count, passed=count)
    result.stdout.fnmatch_lines(["*lacks custom*"])


def test_an_unknown_aspect_is_named(pytester: pytest.Pytester):
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.aspects("fp65")
        def test_it(lapilli_device): pass
        """
    )
    result = pytester.runpytest_subprocess(*PLUGIN)
    result.stdout.fnmatch_lines(["*there is no aspect 'fp65'*"])


def test_devices_can_be_chosen(pytester: pytest.Pytester):
    device = lp.devices()[-1]
    pytester.makepyfile("def test_it(lapilli_device): assert lapilli_device is not None")
    pytester.runpytest_subprocess(*PLUGIN, "--lapilli-device", device.selector).assert_outcomes(passed=1)
    result = pytester.runpytest_subprocess(*PLUGIN, "--lapilli-device", "voodoo")
    assert result.ret != pytest.ExitCode.OK
    assert "'voodoo' matches no device" in result.stdout.str() + result.stderr.str()


def test_without_a_device_tests_are_skipped_unless_one_is_required(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
):
    pytester.makepyfile("def test_it(lapilli_device): raise AssertionError")
    monkeypatch.setenv("VK_DRIVER_FILES", "/nonexistent.json")
    monkeypatch.setenv("LAPILLI_SWIFTSHADER", "")
    result = pytester.runpytest_subprocess(*PLUGIN, "-rs")
    result.assert_outcomes(skipped=1)
    result = pytester.runpytest_subprocess(*PLUGIN, "--lapilli-require-device")
    assert result.ret != pytest.ExitCode.OK
