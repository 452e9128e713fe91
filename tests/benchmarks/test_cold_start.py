"""The cold-start benchmark's table; the times themselves are not tested."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "cold_start.py"


@pytest.fixture(scope="module")
def cold_start() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lapilli_cold_start", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_the_table_gives_ratios_to_both_floors(cold_start: ModuleType) -> None:
    found = {"import numpy": [50.0, 60.0, 40.0], cold_start.FLOOR: [100.0], "mine": [150.0, 250.0, 200.0]}
    assert cold_start.table(found).splitlines()[-1] == "| mine | 150.0 | 200.0 | 4.00 | 2.00 |"


def test_a_process_is_timed_up_to_its_result(cold_start: ModuleType, tmp_path: Path) -> None:
    case = cold_start.CASES[0]
    assert case.name == "python"
    assert 0 < cold_start.milliseconds(case, {}, tmp_path) < 60_000
