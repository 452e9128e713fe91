"""``lp.this_module``: the kernel bundle of the Python module that calls (``this_module`` of the Modules proposal)."""

from __future__ import annotations

import sys

from ..ir.errors import InvalidError
from ..vk_runtime.bundle_image import DeviceImage
from ..vk_runtime.bundle_state import BundleState
from ..vk_runtime.bundle_transitions import common_environment
from ..vk_runtime.context import Context
from ..vk_runtime.kernel_bundle import KernelBundle
from .bundle_arguments import checked_devices
from .bundle_images import BUNDLE_STATES, bundle_of, compatible, lacking
from .unit_images import images_of_unit


class ThisModule:
    """The kernels of the Python module that calls: SYCL's ``this_module`` of the Modules proposal."""

    def get(self, ctx: Context, state: BundleState) -> KernelBundle:
        """Returns the calling module's kernels as a bundle, compiled and linked as far as `state` needs it.

        Raises:
            InvalidError: there are none in this state.
            BuildError: a kernel cannot be compiled or linked.
        """
        module = _calling_module()
        images = self._images(module, ctx, state)
        if not images:
            raise InvalidError(
                f"this_module.get: Python module '{module}' has no kernel in state {state.name} for this context"
            )
        return bundle_of(ctx, ctx.devices, images, state)

    def has_any_module(self, ctx: Context) -> bool:
        """Returns whether the calling module has kernels in any state."""
        module = _calling_module()
        return any(self._images(module, ctx, state) for state in BUNDLE_STATES)

    def has_module_in(self, ctx: Context, state: BundleState) -> bool:
        """Returns whether `get` returns a bundle for the calling module; False for `BundleState.SOURCE`."""
        if state is BundleState.SOURCE and isinstance(ctx, Context):  # pyright: ignore[reportUnnecessaryIsInstance]
            return False
        return bool(self._images(_calling_module(), ctx, state))

    def _images(self, module: str, ctx: Context, state: BundleState) -> list[DeviceImage]:
        devices = checked_devices("this_module", ctx, None, state)
        if lacking(devices, state) is not None:
            return []
        images = compatible(images_of_unit(module, common_environment(devices)), devices)
        if state is BundleState.EXECUTABLE:  # functions without kernels are only there to be linked
            images = [image for image in images if image.kernels]
        return images

    def __repr__(self) -> str:
        return "lp.this_module"


this_module = ThisModule()
"""The kernels of the Python module that calls."""


def _calling_module() -> str:
    return str(sys._getframe(2).f_globals.get("__name__", "__main__"))  # pyright: ignore[reportPrivateUsage]
