"""Which kernel of a bundle a user means, by id, kernel function or name, and how messages name kernels."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from ..ir.errors import InvalidError, UnknownKernelError
from .kernel_id import KernelId, given_id, no_kernel, no_name

if TYPE_CHECKING:
    from .bundle_image import DeviceImage


class Named(Protocol):
    """What has a kernel's names: a `KernelId`, a kernel function."""

    @property
    def name(self) -> str:
        """``name=``, or the function's."""
        ...

    @property
    def qualified_name(self) -> str:
        """The module-qualified name of the function."""
        ...


NamedT = TypeVar("NamedT", bound=Named)


def kernels_called(kernels: Iterable[NamedT], name: str) -> list[NamedT]:
    """Returns the kernels that a name means: its module-qualified name, else its name, else its function's own name,
    which ``name=`` replaced."""
    known = list(kernels)
    return (
        [kernel for kernel in known if kernel.qualified_name == name]
        or [kernel for kernel in known if kernel.name == name]
        or [kernel for kernel in known if kernel.qualified_name.rpartition(".")[2] == name]
    )


def find_kernel(
    what: str, ids: Sequence[KernelId], images: Sequence[DeviceImage], kernel: object
) -> KernelId | None:
    """Returns the id that a user's value stands for, None where the bundle has no such kernel.

    Args:
        what: the member that was called, for messages.
        ids: of the bundle's kernels.
        images: of the bundle; kernels from source, whose ids are not among `ids`, are found by their names.
        kernel: an id, a kernel function, or a name: module-qualified, or short where that is unambiguous, or what
            `DeviceImage.kernels` calls it.

    Raises:
        InvalidError: the name is that of several kernels.
        TypeError: the value stands for no kernel.
    """
    if not isinstance(kernel, str):
        found = given_id(kernel)
        if found is None:
            raise no_kernel(what, kernel)
        return found if found in ids else None
    named = kernels_called(ids, kernel)
    if not named:  # kernels of one name in one module: an image numbers them
        called = {image.id_of(kernel) for image in images}
        named = [id_ for id_ in ids if id_ in called]
    candidates = sorted({id_.qualified_name for id_ in named})
    if len(candidates) > 1:
        raise InvalidError(
            f"{what}: {kernel!r} is the name of several kernels; name one of {', '.join(candidates)}"
        )
    if not named and source_kernels(what, images, kernel):
        return source_kernel(what, images, {}, kernel)
    if len(named) <= 1:
        return named[0] if named else None
    meant = given_id(bound_to(candidates[0]))
    return meant if meant in named else named[-1]


def source_kernels(what: str, images: Iterable[DeviceImage], name: object) -> list[KernelId]:
    """Returns the ids of the kernels that images from source have under a name.

    Raises:
        TypeError: `name` is no text.
    """
    if not isinstance(name, str):
        raise no_name(what, name)
    found = (image.id_of(name) for image in images if image.is_from_source)
    return [id_ for id_ in dict.fromkeys(found) if id_ is not None]


def source_kernel(
    what: str, images: Sequence[DeviceImage], left_out: Mapping[str, str], name: str
) -> KernelId:
    """Returns the id of the kernel that images from source have under a name.

    Args:
        what: the member that was called, for messages.
        images: of the bundle.
        left_out: kernels of the source that no device can run, and why.
        name: as the source spells it.

    Raises:
        UnknownKernelError: there is none of that name.
        InvalidError: more than one source has a kernel of that name.
        TypeError: `name` is no text.
    """
    found = source_kernels(what, images, name)
    if len(found) > 1:
        raise InvalidError(
            f"{what}: {len(found)} sources that the bundle was built from have a kernel {name!r}; take it from the "
            "bundle of its own source, before lp.join"
        )
    if found:
        return found[0]
    if name in left_out:
        raise left_out_kernel(what, name, left_out[name])
    names = sorted({known for image in images if image.is_from_source for known in image.kernels})
    raise UnknownKernelError(
        f"{what}: the bundle was built from no source with a kernel {name!r}; "
        + (f"it has {', '.join(names)}" if names else "get_kernel finds kernels of Python modules")
    )


def bound_to(qualified_name: str) -> object:
    """Returns what the program has under a qualified name, None where it has nothing: which one of several kernels that
    decorators made of one function the name means."""
    module, parts = qualified_name, list[str]()
    while module and module not in sys.modules:
        module, _, part = module.rpartition(".")
        parts.insert(0, part)
    found: object = sys.modules.get(module)
    for part in parts:
        found = getattr(found, part, None)
    return found


def stands_for(kernel: object, id_: KernelId) -> bool:
    """Returns whether a user's value stands for a kernel; a name may stand for others too."""
    if isinstance(kernel, str):
        return bool(kernels_called((id_,), kernel))
    return given_id(kernel) is id_


def listing(images: Sequence[DeviceImage], absent: object) -> str:
    """Returns what a bundle has, for messages.

    Args:
        images: of the bundle.
        absent: what was looked for; a kernel of the same name that it is not is told apart.
    """
    ids = dict.fromkeys(id_ for image in images for id_ in image.kernel_ids)
    names = sorted(id_.qualified_name for id_ in ids)
    names += sorted(
        {f"{name} (from source)" for image in images if image.is_from_source for name in image.kernels}
    )
    twin = next((id_ for id_ in ids if id_.qualified_name == getattr(absent, "qualified_name", None)), None)
    if twin is None:
        return f"it has {', '.join(names)}" if names else "it has none"
    if twin.origin is None:
        why = "another definition of it; get a bundle of this one"
    else:
        why = "one from a bundle file, which has other parameters, or is not the one that the module has under its name"
    return f"it has {', '.join(names)}, but of the same name {why}"


def left_out_kernel(what: str, name: str, why: str) -> UnknownKernelError:
    """Returns the error, in the name of `what`, for a kernel of the source that no device of the bundle can run."""
    return UnknownKernelError(f"{what}: kernel {name!r} was left out: {why}")


def unknown_kernel(what: str, images: Sequence[DeviceImage], kernel: object) -> UnknownKernelError:
    """Returns the error, in the name of `what`, for a kernel that the images of a bundle do not have."""
    shown = repr(kernel) if isinstance(kernel, str) else f"'{getattr(kernel, 'qualified_name', kernel)}'"
    return UnknownKernelError(f"{what}: the bundle has no kernel {shown}; {listing(images, kernel)}")
