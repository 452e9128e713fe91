"""`LAPILLI_LOG` and `lp.config.log`: which loggers speak, where, and what setting it again undoes."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

import lapilli as lp
from lapilli.ir.config import LOG_TOPICS, Config
from lapilli.vk_runtime import log_topics, trace

PROGRAM = """
import lapilli as lp
@lp.kernel
def grow(x: lp.Array[lp.f32]):
    x[lp.global_id(0)] = x[lp.global_id(0)] + 1.0
x = lp.zeros(16)
grow[16](x).wait()
"""


def run(tmp_path: Path, log: str, program: str = PROGRAM, *, status: int = 0) -> str:
    """Returns what a program writes to standard error; `status` is what it ends with."""
    file = tmp_path / "program.py"
    file.write_text(program, "utf-8")
    env = {name: value for name, value in os.environ.items() if name != "LAPILLI_LOG"}
    env |= {"LAPILLI_LOG": log, "LAPILLI_CACHE": "1", "LAPILLI_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        (sys.executable, str(file)), env=env, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == status, done.stderr
    return done.stderr


@pytest.mark.device
@pytest.mark.native_only("interpreted launches take no memory")
def test_topics_choose_what_is_said(tmp_path: Path) -> None:
    cold = run(tmp_path, "launch,compile")
    assert "DEBUG lapilli.vk_runtime.launch: launch: kernel grow on " in cold
    assert "DEBUG lapilli.frontend.compile: compile: kernel grow on " in cold
    assert "memory" not in cold and "cache" not in cold.replace(str(tmp_path), "")
    warm = run(tmp_path, "cache,memory")
    assert "DEBUG lapilli.frontend.image_cache: cache_hit: kernel grow on " in warm
    assert "DEBUG lapilli.vk_runtime.memory_blocks: took " in warm
    assert "launch:" not in warm
    assert run(tmp_path, "") == ""


@pytest.mark.device
def test_an_unknown_topic_is_one_error_that_ends_in_the_user_s_line(tmp_path: Path) -> None:
    said = run(tmp_path, "lunch", status=1)
    assert "InvalidError: LAPILLI_LOG takes topics (launch, cache" in said
    assert said.count('  File "') == 2  # the program's line, and lapilli's frame that raises


@pytest.mark.device
def test_a_level_is_for_all_of_lapilli(tmp_path: Path) -> None:
    info = run(tmp_path, "info")
    assert "INFO lapilli.vk_runtime.logical_device: use a VkDevice" in info
    assert "DEBUG" not in info
    assert "launch: kernel grow" in run(tmp_path, "debug")


@pytest.mark.device
def test_the_option_can_be_set_in_the_program(tmp_path: Path) -> None:
    program = PROGRAM + "with lp.config.override(log='launch'):\n    grow[16](x)\ngrow[16](x)\n"
    assert run(tmp_path, "", program).count("launch: kernel grow") == 1


@pytest.fixture
def undone():
    yield
    del lp.config.log
    log_topics.apply()


@pytest.mark.usefixtures("undone")
def test_setting_it_again_undoes_what_was_set() -> None:
    log_topics.set_up()
    memory = logging.getLogger("lapilli.vk_runtime.memory")
    before, count = memory.level, len(trace.active)
    lp.config.log = "memory,launch"
    assert memory.level == logging.DEBUG
    assert len(trace.active) == count + 1
    lp.config.log = "cache"
    assert memory.level == before
    lp.config.log = ()
    assert logging.getLogger("lapilli.vk_runtime.disk_cache").level == logging.NOTSET
    assert len(trace.active) == count


def test_handlers_of_the_program_are_used(caplog: pytest.LogCaptureFixture) -> None:
    log_topics.set_up()
    with lp.config.override(log="launch"):
        assert logging.getLogger("lapilli").handlers == []  # pytest's are on the root logger
        trace.record("launch", kernel="k", device="d")
    assert [record.getMessage() for record in caplog.records] == ["launch: kernel k on d"]


@pytest.mark.parametrize("value", ["launches", "launch,everything", 3])
def test_other_words_are_refused(value: object) -> None:
    options = Config()
    with pytest.raises(lp.InvalidError, match=r"lp\.config\.log takes topics \(launch, cache"):
        options.log = value  # type: ignore[assignment]
    assert options.log == ()


def test_there_are_loggers_for_each_topic() -> None:
    assert tuple(log_topics.TOPICS) == LOG_TOPICS


def test_command_line_names_a_wrong_word() -> None:
    done = subprocess.run(
        (sys.executable, "-m", "lapilli", "explain", "LP2100"),
        env={**os.environ, "LAPILLI_LOG": "nonsense"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("lapilli: LAPILLI_LOG takes topics") and "Traceback" not in done.stderr
