"""What is said of exported functions that need what their callers do not expect: the wording of DPC++'s design.

Two places say it: `passes.diagnose_aspects` of one image's functions, and `frontend.external_warnings` of images
that are linked.  Standard library only.
"""

from __future__ import annotations

from .aspects import VENDOR_BASE


def is_declarable(aspect: int) -> bool:
    """Returns whether users can be asked to list an aspect in `device_has`: vendor and internal ones they cannot."""
    return 0 <= aspect < VENDOR_BASE


def unexpected_aspect(function: str, spelling: str) -> str:
    """Returns the warning about an aspect that a function uses and its caller's declaration does not tell."""
    return (
        f"function '{function}' uses aspect '{spelling}' not expected by its calling kernel.\n"
        "Missing [[sycl::device_has()]] on SYCL_EXTERNAL function?"
    )


def other_sub_group_size(function: str, size: int) -> str:
    """Returns the warning about a required sub-group size that the calling kernel has not."""
    return (
        f"function '{function}' has required sub-group size '{size}' that does not match its calling "
        "kernel.  Missing [[sycl::reqd_sub_group()]] attribute on SYCL_EXTERNAL function?"
    )


def other_fixed_targets(function: str) -> str:
    """Returns the warning about a function that was compiled for targets that its caller was not."""
    return f"function '{function}' compiled with a different `-fsycl-fixed-targets` switch than its calling kernel."
