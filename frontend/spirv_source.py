"""The source language SPIRV: a module as bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ..ir.errors import BuildError
from ..spirv.binary import parse
from ..spirv.call_order import MOST_COUNTED, inlined_calls
from ..spirv.count_rounds import counts_rounds
from ..spirv.device_image import DeviceImage
from ..spirv.foreign import foreign_kernels
from ..spirv.selection_depth import selection_depth
from ..vk_runtime.quirk_table import BRANCH_DEPTH
from ..vk_runtime.quirks import driver_version, has_quirk
from ..vk_runtime.source_language import CompiledSource, SourceRequest

MAXIMUM_SELECTION_DEPTH: Final = 64
"""As of kernels in Python, where a driver computes deeper ones wrongly."""

MAXIMUM_CALLS: Final = 1 << 16
"""Of a kernel, all inlined: with four times as many, drivers compile one for longer than a minute."""


def compile_source(request: SourceRequest) -> CompiledSource:
    """Returns the kernels of a SPIR-V module; see `spirv.foreign.foreign_kernels`."""
    assert isinstance(request.code, bytes), "create_bundle checked it"
    return compiled_spirv(request.code, request, "<SPIR-V>")


def compiled_spirv(binary: bytes, request: SourceRequest, label: str) -> CompiledSource:
    """Returns the kernels of a module that some compiler made of source.

    Args:
        binary: the module.
        request: has the values of specialization constants.
        label: what messages call the module.

    Raises:
        BuildError: the module is wrong, or a driver of the context would run it wrongly.
    """
    cap = request.env.loop_iteration_cap
    found = foreign_kernels(
        binary,
        spec_values=request.spec_values,
        label=label,
        is_object=request.is_object,
        loop_cap=cap,
        env=request.env,
    )
    _check_calls(binary, label)
    _check_depth(binary, request, label)
    warnings = [*found.warnings, *_loop_warnings(found.images, cap)]
    return CompiledSource(images=found.images, warnings=tuple(warnings), left_out=found.left_out)


def _check_calls(binary: bytes, label: str) -> None:
    calls = inlined_calls(parse(binary))
    if calls > MAXIMUM_CALLS:
        more = " or more" if calls == MOST_COUNTED else ""
        raise BuildError(
            f"{label}: error: the calls of a kernel come to {calls:,}{more}, those of the functions that it calls "
            f"counted at each call; drivers inline them all: expected at most {MAXIMUM_CALLS:,}; call functions in "
            "loops",
            code="LP2103",
        )


def _check_depth(binary: bytes, request: SourceRequest, label: str) -> None:
    for device in request.devices:
        physical = device.physical
        if not has_quirk(BRANCH_DEPTH, physical.driver_id, driver_version(physical.driver_info)):
            continue
        depth = selection_depth(parse(binary))
        if depth > MAXIMUM_SELECTION_DEPTH:
            raise BuildError(
                f"{label} has branches {depth} deep inside each other, called functions included, and the driver "
                f"of device '{device.selector}' is wrong, or ends the process, beyond 80: expected at most "
                f"{MAXIMUM_SELECTION_DEPTH}; split them, or choose another device"
            )


def _loop_warnings(images: Sequence[DeviceImage], cap: int | None) -> Iterator[str]:
    """Yields what to say of kernels whose rounds nobody counts, where a driver ends loops."""
    for image in images:
        for kernel in image.kernels:
            if cap is not None and kernel.has_loops and not counts_rounds(image, kernel):
                yield (
                    f"kernel '{kernel.name}' has loops, and the driver leaves all loops of a sub-group without a word "
                    f"once they have run {cap:,} rounds in total: results are wrong where they run longer"
                )
