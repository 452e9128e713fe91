"""What the functions of other Python modules need that a kernel calls, found before anything is compiled or linked."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.call_graph import functions
from ..ir.dialects.spirv import LinkageType
from ..ir.kernel_info import Requirements
from ..ir.target_env import TargetEnv
from ..passes.convert_to_spirv.external_functions import linkage_of
from ..vk_runtime.bundle_image import DeviceImage
from ..vk_runtime.bundle_transitions import common_environment
from ..vk_runtime.compatibility import is_supported
from ..vk_runtime.device import Device
from .compile import compile_lock
from .linking import defining
from .unit_images import UnitImage, images_of_unit


def runs_linked(image: DeviceImage, devices: Sequence[Device]) -> bool:
    """Returns whether one of some devices has what an image needs together with all that it calls."""
    source = image.input
    needs = _needs_of_calls(source, common_environment(devices)) if isinstance(source, UnitImage) else []
    return not needs or any(
        image.is_compatible(device) and all(is_supported(need, device) for need in needs)
        for device in devices
    )


def _needs_of_calls(image: UnitImage, env: TargetEnv) -> list[Requirements]:
    """Returns the requirements of the images that define what an image calls, directly or not.

    Of what nobody defines, or cannot be compiled, nothing is known: linking says what is wrong.
    """
    needs: list[Requirements] = []
    seen: set[str] = set()
    pending = [image]
    with compile_lock:
        while pending:
            user = pending.pop()
            for symbol in _symbols(user, LinkageType.Import) - seen:
                seen.add(symbol)
                for unit in {function.unit for function in defining(symbol, user.captures.imports)}:
                    found = [
                        i for i in images_of_unit(unit, env) if symbol in _symbols(i, LinkageType.Export)
                    ]
                    needs += [provider.requirements for provider in found]
                    pending += found
    return needs


def _symbols(image: UnitImage, kind: LinkageType) -> set[str]:
    if image.analysed is None:
        return set()
    linkages = [linkage_of(function) for function in functions(image.analysed.module)]
    return {found.linkage_name for found in linkages if found is not None and found.linkage_type is kind}
