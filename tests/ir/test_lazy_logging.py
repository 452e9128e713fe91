"""Loggers that load `logging` when it is needed; records are as of any other logger."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from lapilli.ir.lazy_logging import logger_of


def test_records_are_those_of_logging(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "lapilli.test"):
        logger_of("lapilli.test").debug("wrote %d bytes", 3)
        logger_of("lapilli.test").warning("low")
    assert [(r.name, r.levelname, r.getMessage(), r.funcName) for r in caplog.records] == [
        ("lapilli.test", "DEBUG", "wrote 3 bytes", "test_records_are_those_of_logging"),
        ("lapilli.test", "WARNING", "low", "test_records_are_those_of_logging"),
    ]


def test_only_warnings_load_logging() -> None:
    program = (
        "import sys; from lapilli.ir.lazy_logging import logger_of; logger = logger_of('lapilli.x')\n"
        "logger.debug('%s', 1); logger.info('quiet'); print('logging' in sys.modules)\n"
        "logger.warning('heard'); print('logging' in sys.modules)\n"
    )
    done = subprocess.run((sys.executable, "-c", program), capture_output=True, text=True, check=True)
    assert (done.stdout.split(), done.stderr) == (["False", "True"], "heard\n")
