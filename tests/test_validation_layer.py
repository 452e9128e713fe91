"""The device tests once more under the Khronos validation layer: not one message is allowed.

The layer is chosen when the VkInstance is made, so this takes a process of its own.  Only drivers behind the
loader are run: layers do not reach the embedded one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = os.environ | {"LAPILLI_VALIDATE": "1", "LAPILLI_SWIFTSHADER": ""}


SAME_CALLS = (
    *("test_dtype_matrix.py", "test_dtype_operations.py", "test_math_accuracy.py"),
    *("test_nested_rounds.py", "test_python_loops.py"),
    *("test_absolute_values.py", "test_conversions.py", "test_last_rounds.py", "test_low_bits.py"),
    *("test_narrow_integers.py", "test_negated_truths.py", "test_saturated_minima.py", "test_wide_orders.py"),
)
"""Files with thousands of kernels that differ in arithmetic and loops alone: the layer sees the same calls again and
again, and takes minutes for them."""


def python(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (sys.executable, *args), cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )


def unavailable() -> str:
    """Why nothing can be run under the layer here; empty where it can."""
    if os.environ.get("LAPILLI_VALIDATE", "0") not in ("", "0"):
        return "this run is under the validation layer itself"
    program = (
        "from lapilli.vk_runtime.runtime import runtime\n"
        "print(*(d.physical.instance.is_validated for d in runtime().devices))"
    )
    answers = python("-c", program).stdout.split()
    if not answers:
        return "no Vulkan device behind the loader"
    return "" if "False" not in answers else "the validation layer (vulkan-validationlayers) is not installed"


@pytest.mark.device
@pytest.mark.starts_first
def test_device_tests_pass_without_a_message_of_the_validation_layer() -> None:
    reason = unavailable()
    if reason:
        pytest.skip(reason)
    left_out = [f"--ignore=tests/device/{name}" for name in SAME_CALLS]
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", *left_out, "tests/device")
    closing_lines = "\n".join(done.stdout.splitlines()[-30:])
    assert done.returncode == 0, closing_lines
    assert " passed" in closing_lines
