"""KernelId: which kernel, apart from any bundle, device or image (SYCL 2020, ``sycl::kernel_id``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NoReturn, Protocol

from ..ir.public_names import PublicNames
from .bundle_errors import ConstraintError, no_constructor, type_name

if TYPE_CHECKING:
    from ..ir.lpk_records import ConstantRecord, KernelRecord
    from .device import Device
    from .launchable import Launchable
    from .spec_values import SpecConstant

Binder = Callable[[tuple[object, ...], Mapping[str, object]], tuple[object, ...]]
"""Puts the arguments of a launch in the order of the parameters, composites taken apart; KernelArgumentError."""


class LocalSizeOf(Protocol):
    """A work-group size that specialization constants take part in; `frontend.local_size.LocalSize` is one."""

    def sizes(self, values: Mapping[str, bytes], kernel_name: str) -> tuple[int, ...]:
        """Returns the sizes, slowest dimension first, for host bytes by symbol; InvalidError where one is below 1."""
        ...

    def explain(self, values: Mapping[str, bytes]) -> str:
        """Returns how the sizes came about, for messages."""
        ...

    @property
    def spec_constants(self) -> tuple[SpecConstant, ...]:
        """The specialization ids that take part."""
        ...


Describer = Callable[[], "tuple[KernelRecord, tuple[ConstantRecord, ...]]"]
"""Says what a bundle file has of a kernel, and of the constants that its signature names; InvalidError where it cannot
be in one."""


class KernelId(
    metaclass=PublicNames,
    internal="attributes become_own bind describe function is_application local_size origin parameter_names",
):
    """The identity of a kernel of the application.  Two are equal if and only if they are the same object.

    Made by `get_kernel_id` and `get_kernel_ids`.
    """

    __slots__ = (
        "__weakref__",
        "_name",
        "_qualified_name",
        "attributes",
        "bind",
        "describe",
        "device",
        "function",
        "is_application",
        "local_size",
        "origin",
        "parameter_names",
    )

    _name: str
    _qualified_name: str
    bind: Binder
    """How arguments reach its parameters."""
    parameter_names: tuple[str, ...]
    """What a launch gives arguments for, in order."""
    local_size: LocalSizeOf | None
    """The work-group size that it asks for, where specialization constants take part."""
    attributes: str
    """What its decorators say, as text: ``reqd_work_group_size(8,8)``."""
    device: Device | None
    """Whose built-in kernel it is; None for all others."""
    is_application: bool
    """Whether it is a kernel of a Python module of the application: neither built-in nor made from source."""

    function: Callable[[], Launchable | None]
    """Returns the function that it is the kernel of, while that lives; None: the program has none."""
    describe: Describer | None
    """What a bundle file says of it; None: it cannot be in one."""
    origin: object
    """The file that it was loaded from, None for the application's own."""

    def __init__(self, *_: object, **__: object) -> None:
        raise no_constructor("KernelId", "lp.get_kernel_id(kernel) gives a kernel's")

    @classmethod
    def _make(
        cls,
        name: str,
        qualified_name: str,
        bind: Binder,
        parameter_names: tuple[str, ...] = (),
        local_size: LocalSizeOf | None = None,
        describe: Describer | None = None,
        *,
        attributes: str = "",
        device: Device | None = None,
        function: Callable[[], Launchable | None] = lambda: None,
        is_from_source: bool = False,
    ) -> KernelId:
        made = object.__new__(cls)
        made.function = function
        made.attributes, made.device = attributes, device
        made.is_application = device is None and not is_from_source
        made.parameter_names, made.local_size = parameter_names, local_size
        made.describe, made.origin = describe, None
        made._name, made._qualified_name, made.bind = name, qualified_name, bind
        return made

    def become_own(
        self,
        bind: Binder,
        local_size: LocalSizeOf | None,
        describe: Describer,
        attributes: str,
        function: Callable[[], Launchable | None],
    ) -> None:
        """Makes a bundle file's kernel the program's own, whose module was imported after the file was loaded.

        Args: as of `make_kernel_id`.
        """
        self.bind, self.local_size, self.describe = bind, local_size, describe
        self.attributes, self.function, self.origin = attributes, function, None

    @property
    def name(self) -> str:
        """The kernel's name.  Kernels of different modules may share it: compare ids, not names."""
        return self._name

    def get_name(self) -> str:
        """Returns `name`."""
        return self._name

    @property
    def qualified_name(self) -> str:
        """The module-qualified name of the kernel's function."""
        return self._qualified_name

    def __copy__(self) -> KernelId:
        return self

    def __deepcopy__(self, memo: object) -> KernelId:
        return self

    def __reduce__(self) -> NoReturn:
        raise ConstraintError(
            "an lp.KernelId cannot be pickled: it is told apart by identity; pickle its kernel, or the name for "
            "lp.get_kernel_id(name)"
        )

    def __repr__(self) -> str:
        return f"<lp.KernelId {self._qualified_name}>"


make_kernel_id = KernelId._make  # pyright: ignore[reportPrivateUsage]  # the factory of this folder and of `units`


def given_id(value: object) -> KernelId | None:
    """Returns the id of a KernelId or of a kernel function, None for anything else."""
    found = value if isinstance(value, KernelId) else getattr(value, "kernel_id", None)
    return found if isinstance(found, KernelId) else None


def no_name(what: str, value: object) -> ConstraintError:
    """Returns the error for a value that is no name of a kernel."""
    return ConstraintError(f"{what} takes the name of a kernel, found {value!r} of type {type_name(value)}")


def no_kernel(what: str, value: object) -> ConstraintError:
    """Returns the error for a value that stands for no kernel."""
    return ConstraintError(
        f"{what} takes an lp.KernelId, a kernel function or its name; found {value!r} of type {type_name(value)}"
    )
