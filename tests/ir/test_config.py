"""`lp.config`: what was set, else the environment, else the default."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lapilli as lp
from lapilli.ir.config import OPTIONS, Config, misspelt_variables
from lapilli.spirv.tools import ENVIRONMENT_VARIABLE
from lapilli.vk_runtime.loader import EMBEDDED_VARIABLE


def test_the_environment_is_read_at_each_use(monkeypatch: pytest.MonkeyPatch):
    assert lp.config.debug is False
    monkeypatch.setenv("LAPILLI_DEBUG", "1")
    assert lp.config.debug is True
    monkeypatch.setenv("LAPILLI_DEBUG", "off")
    assert lp.config.debug is False


def test_what_is_set_beats_the_environment_until_it_is_deleted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LAPILLI_CACHE_SIZE", "1000")
    lp.config.cache_size = 2000
    try:
        assert lp.config.cache_size == 2000
    finally:
        del lp.config.cache_size
    assert lp.config.cache_size == 1000


def test_override_restores_what_was_set_before():
    with lp.config.override(dump_dir="/somewhere", dump=["k:ir"]):
        with lp.config.override(dump="a:ir, b:spirv"):
            assert lp.config.dump == ("a:ir", "b:spirv")
        assert lp.config.dump == ("k:ir",)
        assert lp.config.dump_dir == Path("/somewhere")
    assert (lp.config.dump, lp.config.dump_dir) == ((), None)


def test_overrides_that_end_in_another_order_leave_nothing_behind():
    """As blocks of two threads do."""
    first, second = (
        lp.config.override(cache_size=1000, dump_dir="/first"),
        lp.config.override(cache_size=2000),
    )
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert (lp.config.cache_size, lp.config.dump_dir) == (2000, None)
    second.__exit__(None, None, None)
    assert not lp.config.is_set("cache_size")


def test_what_is_set_or_deleted_in_a_block_is_of_the_block():
    with lp.config.override(cache_size=1000):
        lp.config.cache_size = 2000
        assert lp.config.cache_size == 2000
        del lp.config.cache_size
        assert not lp.config.is_set("cache_size")
    assert not lp.config.is_set("cache_size")


def test_override_with_a_bad_value_changes_nothing():
    with pytest.raises(lp.InvalidError), lp.config.override(debug=True, cache_size="much"):
        pass
    assert lp.config.debug is False


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("cache_size", -1, "lp.config.cache_size takes a number of bytes; found -1"),
        ("cache_size", True, "lp.config.cache_size takes a number of bytes; found True"),
        ("debug", 1.0, "lp.config.debug takes a switch"),
        ("debug", 2, "lp.config.debug takes a switch"),
        ("device", 3, "lp.config.device takes a selector of a device; found 3"),
        ("disable_aspects", [1], "lp.config.disable_aspects takes names separated by commas"),
        ("cache_dir", 5, "lp.config.cache_dir takes the path of a folder"),
    ],
)
def test_a_misfit_names_the_option(name: str, value: object, expected: str):
    with pytest.raises(lp.InvalidError) as caught:
        setattr(lp.config, name, value)
    assert expected in str(caught.value)


@pytest.mark.parametrize("value", [0, 1, False, True])
def test_a_switch_takes_the_numbers_that_its_message_names(value: Any):
    with lp.config.override(debug=value):
        assert lp.config.debug is bool(value)


def test_an_unknown_option_lists_the_options():
    with pytest.raises(lp.InvalidError, match=r"no option 'devcie'; there are device, visible_devices"):
        lp.config.devcie = "cpu"  # pyright: ignore[reportAttributeAccessIssue]


def test_a_bad_variable_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LAPILLI_CACHE_SIZE", "huge")
    with pytest.raises(lp.InvalidError, match="LAPILLI_CACHE_SIZE takes a number of bytes; found 'huge'"):
        _ = lp.config.cache_size


SWITCHES = ("debug", "validate", "interpret", "cache", "native_images", "verify")


@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_takes_its_positions_and_no_other_word(name: str, monkeypatch: pytest.MonkeyPatch):
    variable, config = f"LAPILLI_{name.upper()}", Config()
    for text, is_on in (("yes", True), (" TRUE ", True), ("On", True), ("no", False), ("False", False)):
        monkeypatch.setenv(variable, text)
        assert getattr(config, name) is is_on
    expected = r"takes a switch \(1 or 0, on or off, yes or no, true or false\); found "
    for text in ("maybe", "2", "1.0"):
        monkeypatch.setenv(variable, text)
        with pytest.raises(lp.InvalidError, match=f"{variable} {expected}'{text}'"):
            getattr(config, name)
        with pytest.raises(lp.InvalidError, match=rf"lp\.config\.{name} {expected}'{text}'"):
            setattr(config, name, text)


REFUSED = {
    **dict.fromkeys(SWITCHES, "a switch"),
    **dict.fromkeys(("cache_size", "print_size"), "a number of bytes"),
    **dict.fromkeys(("flush_after", "hang_timeout"), "a number of seconds"),
    "log": "topics",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_variable_is_refused_at_the_first_use_of_a_device(name: str, monkeypatch: pytest.MonkeyPatch):
    """Also one that is needed late or never, and again at the next use."""
    monkeypatch.setenv(f"LAPILLI_{name.upper()}", "maybe")
    program = "\n".join(
        ["import lapilli as lp"]
        + [
            f"try: {use}\nexcept lp.InvalidError as error: print(error)"
            for use in ("lp.zeros(1)", "lp.devices()")
        ]
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    lines = result.stdout.splitlines()
    expected = f"LAPILLI_{name.upper()} takes {REFUSED[name]}"
    assert len(lines) == 2 and all(
        line.startswith(expected) and line.endswith("found 'maybe'") for line in lines
    )


def test_a_variable_that_nothing_reads_is_told_with_the_one_that_was_meant():
    names = ["LAPILLI_DEBGU", "LAPILLI_CACHEDIR", "LAPILLI_SPIRV_TOOL", "LAPILLI_SOAK", "PATH"]
    names += ["LAPILLI_DEBUG", EMBEDDED_VARIABLE, ENVIRONMENT_VARIABLE]
    assert misspelt_variables(names) == [
        ("LAPILLI_CACHEDIR", "LAPILLI_CACHE_DIR"),
        ("LAPILLI_DEBGU", "LAPILLI_DEBUG"),
        ("LAPILLI_SPIRV_TOOL", "LAPILLI_SPIRV_TOOLS"),
    ]


@pytest.mark.device
def test_a_misspelt_variable_is_warned_of_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LAPILLI_DEBGU", "1")
    program = "import lapilli as lp; lp.device; lp.platforms(); lp.platforms()"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    warning = "LAPILLI_DEBGU is set, which nothing reads; did you mean LAPILLI_DEBUG?"
    assert result.stderr.count(warning) == 1


def test_repr_shows_every_option():
    assert [line.split()[0] for line in repr(lp.config).splitlines()[1:]] == list(OPTIONS)


def test_the_default_device_follows_the_option(device: lp.Device):
    with lp.config.override(device=device.selector):
        assert lp.device() is device
        assert lp.zeros(1).device is device


@pytest.mark.device
def test_visible_devices_are_listed_in_the_order_named(monkeypatch: pytest.MonkeyPatch):
    names = [device.selector for device in lp.devices()][::-1]
    monkeypatch.setenv("LAPILLI_VISIBLE_DEVICES", ",".join(names))
    program = "import lapilli as lp; print([d.selector for d in lp.devices()])"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == repr(names)


@pytest.mark.device
def test_a_visible_device_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LAPILLI_VISIBLE_DEVICES", f"{lp.device().selector},voodoo")
    program = "import lapilli as lp\ntry: lp.devices()\nexcept lp.InvalidError as error: print(error)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "LAPILLI_VISIBLE_DEVICES: 'voodoo' matches no device" in result.stdout
