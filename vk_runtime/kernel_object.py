"""Kernel: one kernel of an executable bundle, ready to be launched (SYCL 2020, ``sycl::kernel``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from ..ir.public_names import PublicNames
from .backend import VulkanObject
from .bundle_errors import ConstraintError, no_constructor
from .context import Context
from .device import Device
from .info_descriptors import Descriptor, answer
from .kernel_id import KernelId
from .kernel_queries import KernelView, device_view

if TYPE_CHECKING:
    from .kernel_bundle import KernelBundle
    from .kernel_range import KernelRange
    from .preset_launch import PresetArguments


class Kernel(
    VulkanObject,
    metaclass=PublicNames,
    internal="__call__ bind_arguments preset with_preset",
):
    """A kernel of an executable bundle.  Equal to another of the same kernel and an equal bundle."""

    __slots__ = ("__weakref__", "_bundle", "_id", "_preset")

    _instead = "pickle the function that it is made of, or save its bundle"

    _bundle: KernelBundle
    _id: KernelId
    _preset: PresetArguments | None

    def __init__(self, *_: object, **__: object) -> None:
        raise no_constructor("Kernel", "KernelBundle.get_kernel gives one")

    @classmethod
    def _make(cls, bundle: KernelBundle, id_: KernelId) -> Kernel:
        made = object.__new__(cls)
        made._bundle, made._id, made._preset = bundle, id_, None
        return made

    def with_preset(self, preset: PresetArguments) -> Kernel:
        """Returns the kernel with its arguments set; `lp.vulkan.make_kernel` checks them."""
        made = Kernel._make(self._bundle, self._id)
        made._preset = preset
        return made

    @property
    def preset(self) -> PresetArguments | None:
        """The arguments that were set when it was made; None: each launch gives them."""
        return self._preset

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self._id.name

    @property
    def kernel_id(self) -> KernelId:
        """Its id."""
        return self._id

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """What a launch gives arguments for, in order."""
        return () if self._preset is not None else self._id.parameter_names

    @property
    def kernel_bundle(self) -> KernelBundle:
        """The bundle that it is of."""
        return self._bundle

    def get_kernel_bundle(self) -> KernelBundle:
        """Returns `kernel_bundle`."""
        return self._bundle

    @property
    def context(self) -> Context:
        """The context of its bundle."""
        return self._bundle.context

    def get_context(self) -> Context:
        """Returns `context`."""
        return self._bundle.context

    @property
    def info(self) -> KernelView:
        """What it says of itself, under the names of SYCL's ``info::kernel``."""
        return KernelView(self)

    def get_info(self, descriptor: object, dev: Device | None = None) -> Any:
        """Returns what a descriptor asks for.

        Args:
            descriptor: ``lp.info.kernel.x``, the same as ``info.x``, or ``lp.info.kernel_device_specific.x``.
            dev: for the latter, of the kernel's bundle; None: the bundle's only device.

        Raises:
            InvalidError: a device that the bundle does not have, or a question that such kernels do not answer.
            TypeError: another descriptor, or no device where the bundle has several.
        """
        if isinstance(descriptor, Descriptor) and descriptor.area == "kernel_device_specific":
            view = device_view(self, dev)
            return answer("Kernel", "kernel_device_specific", view, descriptor)
        found = answer("Kernel", "kernel", self.info, descriptor)
        if dev is not None:
            raise ConstraintError("Kernel.get_info: descriptors of lp.info.kernel take no device")
        return found

    __iter__ = None

    def __getitem__(self, range_: object) -> KernelRange:
        """Returns what launches it over a range: ``kernel[n](…)``, ``kernel[n].on(queue)(…)``."""
        from .kernel_range import KernelRange

        return KernelRange(self, range_)

    def __call__(self, /, *_: object, **__: object) -> NoReturn:
        raise ConstraintError(f"kernel '{self.name}' has no range yet; write kernel[n](…)")

    def bind_arguments(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> tuple[object, ...]:
        """Returns the arguments of a launch as the runtime takes them: one for each parameter, composites taken apart.

        Raises:
            KernelArgumentError: a parameter has no value or two, or a value has no parameter.
        """
        return self._id.bind(args, kwargs)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Kernel):
            return NotImplemented
        return self._id is other._id and self._bundle == other._bundle and self._preset == other._preset

    def __hash__(self) -> int:
        return hash(self._id)

    def __repr__(self) -> str:
        return f"<lp.Kernel {self.name}>"


make_kernel = Kernel._make  # pyright: ignore[reportPrivateUsage]  # the factory of `kernel_bundle`
