"""KernelBundle: device images of one context in one state (SYCL 2020, ``sycl::kernel_bundle``).

Only factories make bundles, and only the specialization constants of INPUT bundles ever change.  A member that
does not exist in a bundle's state raises TypeError at once, where C++ would not compile.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

from ..ir.errors import (
    InvalidError,
    KernelNotFoundError,
    user_facing,
)
from ..ir.public_names import PublicNames
from .backend import VulkanObject
from .bundle_constants import has_constant, named_constant, read_constants, require_no_twin
from .bundle_errors import no_constructor, wrong_state
from .bundle_image import DeviceImage
from .bundle_kernels import (
    find_kernel,
    left_out_kernel,
    listing,
    source_kernel,
    source_kernels,
    stands_for,
    unknown_kernel,
)
from .bundle_selection import image_for
from .bundle_state import BundleState
from .compatibility import checked_device
from .context import Context
from .device import Device
from .items import items
from .kernel_id import KernelId
from .kernel_object import Kernel, make_kernel
from .launch_cache import LaunchRecords
from .spec_values import SpecConstant, SpecValues
from .submission import is_submitting

if TYPE_CHECKING:
    from .handle import Handle
    from .source_language import Source

_WITH_IMAGES = (BundleState.INPUT, BundleState.OBJECT, BundleState.EXECUTABLE)


Refusal = Callable[[Device], NoReturn]
"""Raises KernelNotSupportedError for a device that cannot run a kernel."""


class KernelBundle(
    VulkanObject,
    metaclass=PublicNames,
    internal="handles left_out native_code native_modules refused spec_values takes_values",
):
    """Device images of one context in one state; iterating gives its `DeviceImage` objects.

    Made by `get_kernel_bundle`, `compile`, `link`, `build` and `join`.  Equal to another bundle of the same context,
    state, images and values of specialization constants.
    """

    _instead = "save it, kb.save(path), and lp.load_kernel_bundle(context, path) there"

    _context: Context
    _devices: tuple[Device, ...]
    _state: BundleState
    _images: tuple[DeviceImage, ...]
    _values: SpecValues
    _handles: tuple[Handle, ...]
    native_modules: tuple[int, ...] = ()
    """The VkShaderModules of the application that it was made of."""
    native_code: tuple[bytes, ...] = ()
    """Their SPIR-V, which Vulkan does not give back."""
    launches: LaunchRecords
    """Launches of its kernels that were prepared."""
    _refused: Mapping[KernelId, Refusal]
    _source: Source | None
    _left_out: Mapping[str, str]

    def __init__(self, *_: object, **__: object) -> None:
        raise no_constructor("KernelBundle", "lp.get_kernel_bundle gives one")

    @classmethod
    def _make(
        cls,
        context: Context,
        devices: Sequence[Device],
        state: BundleState,
        images: Sequence[DeviceImage],
        values: SpecValues | None = None,
        handles: Sequence[Handle] = (),
        *,
        source: Source | None = None,
        left_out: Mapping[str, str] | None = None,
        refused: Mapping[KernelId, Refusal] | None = None,
    ) -> KernelBundle:
        made = object.__new__(cls)
        made._context, made._devices, made._state = context, items(devices), state
        made._images, made._values = tuple(dict.fromkeys(images)), values or SpecValues()
        made._handles, made._source, made._left_out = tuple(handles), source, dict(left_out or {})
        made._refused, made.launches = refused or {}, LaunchRecords()
        context.adopt(made)
        return made

    # In every state

    @property
    def context(self) -> Context:
        """The context that it is tied to."""
        return self._context

    def get_context(self) -> Context:
        """Returns `context`."""
        return self._context

    @property
    def devices(self) -> tuple[Device, ...]:
        """Its devices, all of the context, each once."""
        return self._devices

    def get_devices(self) -> list[Device]:
        """Returns `devices` as a list."""
        return list(self._devices)

    @property
    def state(self) -> BundleState:
        """How far its code has come."""
        return self._state

    # Images

    def empty(self) -> bool:
        """Returns whether it has no images."""
        self._require("empty")
        return not self._images

    def __iter__(self) -> Iterator[DeviceImage]:
        self._require("__iter__")
        return iter(self._images)

    def __len__(self) -> int:
        self._require("__len__")
        return len(self._images)

    def __contains__(self, image: object) -> bool:
        self._require("__contains__")
        return image in self._images

    def __bool__(self) -> bool:
        return self._state is BundleState.SOURCE or bool(self._images)

    # Kernels

    @property
    def kernel_ids(self) -> tuple[KernelId, ...]:
        """The ids of its kernels, each once."""
        self._require("kernel_ids")
        return items(dict.fromkeys(id_ for image in self._images for id_ in image.kernel_ids))

    def get_kernel_ids(self) -> list[KernelId]:
        """Returns `kernel_ids` as a list."""
        self._require("get_kernel_ids")
        return list(self.kernel_ids)

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """The names of its kernels, those from source too; those of different Python modules may be equal."""
        self._require("kernel_names")
        held = dict.fromkeys(image.id_of(name) for image in self._images for name in image.kernels)
        return items(id_.name for id_ in held if id_ is not None)

    def get_kernel_names(self) -> list[str]:
        """Returns `kernel_names` as a list."""
        self._require("get_kernel_names")
        return list(self.kernel_names)

    @user_facing
    def has_kernel(self, kernel: object, dev: Device | None = None) -> bool:
        """Returns whether it has a kernel, and whether `dev` can run it.

        Args:
            kernel: an `lp.KernelId`, a kernel function, or its name, which may be that of a kernel from source.
            dev: the device; None: any of the bundle's.

        Raises:
            InvalidError: the name is that of several kernels.
            TypeError: `kernel` stands for no kernel.
        """
        self._require("has_kernel")
        device = None if dev is None else checked_device("KernelBundle.has_kernel", dev)
        found = find_kernel("KernelBundle.has_kernel", self.kernel_ids, self._images, kernel)
        return found is not None and any(image.has_kernel(found, device) for image in self._images)

    @user_facing
    def get_kernel(self, kernel: object) -> Kernel:
        """Returns a kernel that can be launched.

        Args:
            kernel: an `lp.KernelId`, a kernel function, or its name, which may be that of a kernel from source.

        Raises:
            UnknownKernelError: the bundle does not have it.
            KernelNotSupportedError: it was in the file, or was linked, and no device of the bundle can run it.
            InvalidError: the name is that of several kernels.
            TypeError: the bundle is not executable, or `kernel` stands for no kernel.
        """
        self._require("get_kernel", BundleState.EXECUTABLE)
        found = find_kernel("KernelBundle.get_kernel", self.kernel_ids, self._images, kernel)
        if found is None:
            self._refuse(kernel)
            if isinstance(kernel, str) and (why := self._left_out.get(kernel)) is not None:
                raise left_out_kernel("KernelBundle.get_kernel", kernel, why)
            raise unknown_kernel("KernelBundle.get_kernel", self._images, kernel)
        return make_kernel(self, found)

    def ext_oneapi_has_kernel(self, name: str) -> bool:
        """Returns whether it was built from source that defines a kernel of that name."""
        self._require("ext_oneapi_has_kernel")
        return bool(source_kernels("KernelBundle.ext_oneapi_has_kernel", self._images, name))

    @user_facing
    def ext_oneapi_get_kernel(self, name: str) -> Kernel:
        """Returns a kernel of the source that the bundle was built from.

        Raises:
            UnknownKernelError: there is none of that name.
            InvalidError: bundles of several sources were joined, and more than one has a kernel of that name.
            TypeError: the bundle is not executable.
        """
        self._require("ext_oneapi_get_kernel", BundleState.EXECUTABLE)
        found = source_kernel("KernelBundle.ext_oneapi_get_kernel", self._images, self._left_out, name)
        return make_kernel(self, found)

    # Specialization constants

    def contains_specialization_constants(self) -> bool:
        """Returns whether a kernel of the bundle reads a specialization constant."""
        self._require("contains_specialization_constants")
        return bool(read_constants(self._images))

    def has_spec_constant(self) -> bool:
        """Returns `contains_specialization_constants`; the name of the Modules proposal."""
        self._require("has_spec_constant")
        return self.contains_specialization_constants()

    def native_specialization_constant(self) -> bool:
        """Returns whether all images take values as constants of the driver; False without images."""
        self._require("native_specialization_constant")
        return bool(self._images) and all(image.takes_native_values for image in self._images)

    def native_spec_constant(self) -> bool:
        """Returns `native_specialization_constant`; the name of the Modules proposal."""
        self._require("native_spec_constant")
        return self.native_specialization_constant()

    def has_specialization_constant(self, constant: object) -> bool:
        """Returns whether a kernel of the bundle reads a specialization constant; see `set_specialization_constant`."""
        self._require("has_specialization_constant")
        return has_constant("KernelBundle.has_specialization_constant", self._images, constant)

    @user_facing
    def get_specialization_constant(self, constant: object) -> Any:
        """Returns the value of a specialization constant: as set in the INPUT state, else the default."""
        self._require("get_specialization_constant")
        what = "KernelBundle.get_specialization_constant"
        return self._values.get(named_constant(what, self._images, constant))

    @user_facing
    def set_specialization_constant(self, constant: object, value: object) -> None:
        """Sets a specialization constant for everything that is built of this bundle; the last value counts.

        Args:
            constant: an `lp.SpecializationId`; of a native module its SpecId or its name there.
            value: of its type.

        Raises:
            KernelArgumentError: `value` does not fit.
            InvalidError: this thread is submitting a command group, or the kernels read another constant of that
                name.
            TypeError: the bundle is not in state INPUT.
        """
        what = "KernelBundle.set_specialization_constant"
        self._require("set_specialization_constant", BundleState.INPUT)
        found = named_constant(what, self._images, constant)
        if is_submitting():
            raise InvalidError(
                f"{what}: '{found.name}' cannot be set while a command group is submitted; set it before, and build "
                "again"
            )
        require_no_twin(what, self._images, found)
        self._values.set(found, value)

    @property
    def specialization_constants(self) -> Mapping[SpecConstant, Any]:
        """The values of the constants that its kernels read or that were set, by id; a copy."""
        self._require("specialization_constants")
        values = self._values
        keys = dict.fromkeys([*read_constants(self._images), *values.explicit()])
        return MappingProxyType({key: values.get(key) for key in keys})

    # For this folder, handlers and the composition root

    @property
    def spec_values(self) -> SpecValues:
        """What was set."""
        return self._values

    @property
    def handles(self) -> tuple[Handle, ...]:
        """The modules and pipelines that its launches need."""
        return self._handles

    @property
    def source(self) -> Source | None:
        """Text or bytes of a bundle in state SOURCE."""
        return self._source

    @property
    def left_out(self) -> Mapping[str, str]:
        """Kernels of its source that none of its devices can run, and why."""
        return self._left_out

    def image_of(self, kernel: KernelId, device: Device) -> DeviceImage:
        """Returns the image with a kernel that a device runs; see `bundle_selection`.

        Raises:
            KernelNotFoundError: the bundle does not have the kernel.
            KernelNotSupportedError: it does, in no image for this device.
        """
        holding = [image for image in self._images if image.has_kernel(kernel)]
        if not holding:
            self._refuse(kernel)
            raise KernelNotFoundError(
                f"kernel '{kernel.qualified_name}' is not in the kernel bundle; {listing(self._images, kernel)}"
            )
        return image_for(holding, self._devices, self.takes_values, kernel, device)

    @property
    def refused(self) -> Mapping[KernelId, Refusal]:
        """Kernels that were in the file or were linked, and that none of the devices can run, with what tells why."""
        return self._refused

    def _refuse(self, kernel: object) -> None:
        """Raises where `kernel` is one of the refused ones."""
        for id_, refusal in self._refused.items():
            if stands_for(kernel, id_):
                refusal(self._devices[0])

    @user_facing
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the bundle's images to a file that `lp.load_kernel_bundle` reads; docs/lpk-format.md has its bytes.

        Values of the specialization constants that its kernels read are in it, so that what is loaded computes alike.

        Raises:
            InvalidError: the file cannot be written, or a kernel has no form in files.
            TypeError: the bundle is in state INPUT or SOURCE.
        """
        from .bundle_files import save_bundle

        self._require("save", BundleState.OBJECT, BundleState.EXECUTABLE)
        save_bundle(self, path)

    def takes_values(self, image: DeviceImage) -> bool:
        """Returns whether an image computes with the bundle's values: a frozen one does with the defaults only."""
        return not image.frozen or self._values.changed_symbols().isdisjoint(image.spec_symbols)

    def _require(self, member: str, *states: BundleState) -> None:
        expected = states or _WITH_IMAGES
        if self._state not in expected:
            raise wrong_state(f"KernelBundle.{member}", self._state, *expected)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KernelBundle):
            return NotImplemented
        return self is other or (
            self._context is other._context
            and self._state is other._state
            and frozenset(self._images) == frozenset(other._images)
            and self._values.effective() == other._values.effective()
            and self._source == other._source
        )

    def __hash__(self) -> int:
        return hash((id(self._context), self._state, frozenset(self._images)))

    def __repr__(self) -> str:
        devices = ", ".join(device.selector for device in self._devices)
        count = len(self._images)
        images = f"{count} image" if count == 1 else f"{count} images"
        return f"<lp.KernelBundle {self._state.name}, {images}, for {devices}>"


make_bundle = KernelBundle._make  # pyright: ignore[reportPrivateUsage]  # the factory of this folder
