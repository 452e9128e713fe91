"""The table of aspects is what the Vulkan registry gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from lapilli.tools import gen_aspect_table

pytest.importorskip("vulkan_object", reason="the Vulkan registry (PyPI vulkan-object) is not installed")


def test_the_file_is_current():
    assert gen_aspect_table.main(["--check"]) == 0


def test_a_changed_file_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    target = tmp_path / "table.py"
    assert gen_aspect_table.main(["--check", "--output", str(target)]) == 1
    assert gen_aspect_table.main(["--output", str(target)]) == 0
    assert gen_aspect_table.main(["--check", "--output", str(target)]) == 0
    target.write_text(target.read_text("utf-8").replace("shaderFloat64", "shaderFloat65"), "utf-8")
    assert gen_aspect_table.main(["--check", "--output", str(target)]) == 1
    assert "run gen_aspect_table" in capsys.readouterr().err
