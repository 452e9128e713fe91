"""Translation units: the kernels of each Python module, by the order of their decoration, and their names.

The registry does not keep kernels alive, and defining a kernel loads nothing of the runtime.  So of the objects that
decorators above ``@lp.kernel`` make one from another, the last one is the module's kernel; one that the program keeps
in addition, as of a decorator that is called, is a kernel of its own, with another id.  A module-level kernel
that was defined anew (a notebook's cell, a reload) is no longer part of its unit; the two functions that one ``def``
makes in a loop both are.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

from ..ir.errors import InvalidError, KernelArgumentError, UnknownKernelError
from .arguments import bind_arguments, taken_apart
from .constant_arguments import Constants, Leaves, default_constants
from .function_attributes import attributes_of

if TYPE_CHECKING:
    from ..ir.lpk_records import ConstantRecord, KernelRecord
    from ..vk_runtime.kernel_id import Binder, Describer, KernelId, LocalSizeOf
    from .kernel import KernelFunction
    from .local_size import LocalSize
    from .signature import Signature

BUILT_IN_UNIT = f"{__package__}.built_in_library"
"""The module of built-in kernels, which are none of the application."""

_lock = threading.RLock()
_serials = itertools.count()
_units: dict[str, dict[int, weakref.ref[KernelFunction]]] = {}
"""By Python module: kernels by serial number, oldest first."""


_of_files: weakref.WeakSet[KernelId] = weakref.WeakSet()
"""The ids of kernels of bundle files that the program had no function of when they were loaded."""


def note_loaded(id_: KernelId) -> None:
    """Keeps a bundle file's kernel in mind, whose function the program may still import."""
    with _lock:
        _of_files.add(id_)


def register(kernel: KernelFunction) -> None:
    """Makes a kernel part of the unit of its Python module."""
    module, serial = kernel.function.__module__, next(_serials)

    def forget(_: object) -> None:  # runs at any time, so it takes no lock
        _units.get(module, {}).pop(serial, None)

    with _lock:
        _units.setdefault(module, {})[serial] = weakref.ref(kernel, forget)


def unit_names() -> list[str]:
    """Returns the Python modules of the application that have living kernels."""
    return [name for name in list(_units) if name != BUILT_IN_UNIT and kernels_of(name)]


def kernels_of(module: str) -> list[KernelFunction]:
    """Returns the kernels of a Python module, oldest first."""
    with _lock:
        living = [kernel for reference in list(_units.get(module, {}).values()) if (kernel := reference())]
    latest = {_definition(kernel): kernel.function.__code__ for kernel in living}
    return [kernel for kernel in living if latest[_definition(kernel)] is kernel.function.__code__]


def _definition(kernel: KernelFunction) -> tuple[str, str, object]:
    """Returns what a new definition replaces; functions inside of functions replace nothing."""
    code = kernel.function.__code__
    return kernel.function.__qualname__, kernel.name, code if "<locals>" in code.co_qualname else None


def all_kernels() -> list[KernelFunction]:
    """Returns every kernel of the application, by module, oldest first."""
    return [kernel for name in unit_names() for kernel in kernels_of(name)]


def forget_launches() -> None:
    """Lets go of what every kernel has prepared; see `PipelineStore`."""
    for unit in list(_units.values()):
        for reference in list(unit.values()):
            kernel = reference()
            if kernel is not None:
                kernel.forget_launches()


def id_of(kernel: KernelFunction) -> KernelId:
    """Returns the identity of a kernel, the same object at every call."""
    from ..vk_runtime.kernel_id import make_kernel_id

    with _lock:
        if kernel.known_id is None:
            kernel.known_id = _loaded_id(kernel)
        if kernel.known_id is None:
            made = make_kernel_id(
                kernel.name,
                kernel.qualified_name,
                binder(kernel.name, kernel.signature),
                kernel.parameter_names,
                specialised_local_size(kernel.local_size),
                _describer(kernel),
                attributes=attributes_of(kernel).text(),
                function=weakref.ref(kernel),
            )
            if kernel.known_id is None:  # a finaliser may have set it in between
                kernel.known_id = made
        return kernel.known_id


def _loaded_id(kernel: KernelFunction) -> KernelId | None:
    """Returns the id that a bundle file's kernel has which turns out to be one of the program, from now on the
    program's; None where no file has it."""
    named = [id_ for id_ in list(_of_files) if id_.qualified_name == kernel.qualified_name]
    if (
        not named
        or _meant([k for k in all_kernels() if k.qualified_name == kernel.qualified_name]) is not kernel
    ):
        return None
    describe = _describer(kernel)
    found = next((id_ for id_ in named if id_.describe is not None and id_.describe() == describe()), None)
    if found is not None:
        _of_files.discard(found)
        found.become_own(
            binder(kernel.name, kernel.signature),
            specialised_local_size(kernel.local_size),
            describe,
            attributes_of(kernel).text(),
            weakref.ref(kernel),
        )
    return found


def default_local_size(kernel: KernelFunction) -> tuple[int, ...] | None:
    """Returns the work-group size that a kernel asks for while every constant in it has its default; None: none, or
    none that can be."""
    try:
        return None if kernel.local_size is None else kernel.local_size.sizes({}, kernel.name)
    except InvalidError:
        return None


def specialised_local_size(local: LocalSize | None) -> LocalSizeOf | None:
    """Returns a work-group size that depends on specialization constants; None where it is none of these."""
    return None if local is None or local.is_fixed else local


def binder(name: str, signature: Signature, *, is_from_source: bool = False) -> Binder:
    """Returns what binds arguments; it does not refer to the kernel function, which an id does not keep alive."""
    compiled = default_constants(signature)

    def bind(args: tuple[object, ...], kwargs: Mapping[str, object]) -> tuple[object, ...]:
        for constant in signature.specialization_ids.keys() & kwargs.keys():
            remedy = (
                f"give it to lp.build, props=[lp.SpecValues({{'{constant}': value}})]"
                if is_from_source
                else "set it on the input bundle, "
                f"kb.set_specialization_constant({name}.specialization_ids['{constant}'], value), before the build; "
                "of a bundle file kb.specialization_constants has the ids"
            )
            raise InvalidError(
                f"kernel '{name}': '{constant}' is a specialization constant, and the kernel is taken from a kernel "
                f"bundle, which has its value; {remedy}"
            )
        values = bind_arguments(signature, args, kwargs, name)
        if not signature.has_composites:
            return values
        taken = taken_apart(signature, values, name)
        if taken.constants != compiled:
            _refuse_constants(name, taken.constants, compiled)
        return taken.values

    return bind


def _describer(kernel: KernelFunction) -> Describer:
    """Returns what describes a kernel for bundle files, without keeping it alive either."""
    name, qualified_name = kernel.name, kernel.qualified_name
    signature, local_size = kernel.signature, kernel.local_size

    def describe() -> tuple[KernelRecord, tuple[ConstantRecord, ...]]:
        from .lpk_descriptions import described

        return described(name, qualified_name, signature, local_size)

    return describe


def _refuse_constants(name: str, found: Constants, compiled: Constants) -> NoReturn:
    """Raises for constants other than those that a bundle was compiled with."""
    different = [p for p, value in found.values.items() if repr(value) != repr(compiled.values[p])]
    raise KernelArgumentError(
        f"kernel '{name}': the code of a kernel bundle has the defaults of lp.Const parameters; expected "
        + ", ".join(
            f"'{p}' = {_shown(compiled.values[p])}, found {_shown(found.values[p])}" for p in different
        )
        + "; launch the kernel function itself for other values, or use a specialization constant"
    )


def _shown(leaves: Leaves) -> str:
    return repr(leaves[0] if len(leaves) == 1 else leaves)


def find_id(what: str, kernel: object) -> KernelId:
    """Returns the id that a user's value stands for: an id, a kernel function, or its name.

    Args:
        what: the function that was called, for messages.
        kernel: the value.

    Raises:
        UnknownKernelError: there is no kernel of that name.
        InvalidError: the name is that of several kernels.
        TypeError: the value stands for no kernel.
    """
    from ..vk_runtime.kernel_id import given_id, no_kernel

    if isinstance(kernel, str):
        return id_of(kernel_named(what, kernel))
    found = given_id(kernel)
    if found is not None:
        return found
    if callable(kernel) and not isinstance(kernel, type):
        name = getattr(kernel, "__qualname__", repr(kernel))
        raise InvalidError(
            f"{what}: function '{name}' is no kernel; expected one decorated with @lp.kernel (a lambda cannot be: "
            "write it with def)"
        )
    raise no_kernel(what, kernel)


def kernel_named(what: str, name: str) -> KernelFunction:
    """Returns the kernel of a name: its module-qualified name, or a short one (`kernels_called`) that is no other's.

    Raises:
        UnknownKernelError: there is none; the text lists names that are alike.
        InvalidError: several have it.
    """
    from ..vk_runtime.bundle_kernels import kernels_called

    kernels = all_kernels()
    named = kernels_called(kernels, name)
    candidates = sorted({kernel.qualified_name for kernel in named})
    if len(candidates) > 1:
        raise InvalidError(
            f"{what}: {name!r} is the name of several kernels; name one of {', '.join(candidates)}",
            code="LP1032",
        )
    if not named:
        raise UnknownKernelError(f"{what}: there is no kernel {name!r}{_candidates(name, kernels)}")
    return _meant(named)


def _meant(kernels: list[KernelFunction]) -> KernelFunction:
    """Returns the kernel that a name means of several of one qualified name, as decorators make of one function: the
    one that the program has under it, else the newest."""
    from ..vk_runtime.bundle_kernels import bound_to

    found = bound_to(kernels[0].qualified_name) if len(kernels) > 1 else None
    return next((kernel for kernel in kernels if kernel is found), kernels[-1])


def _candidates(name: str, kernels: list[KernelFunction]) -> str:
    import difflib  # only for messages

    known = list(dict.fromkeys([k.name for k in kernels] + [k.qualified_name for k in kernels]))
    close = difflib.get_close_matches(name, known, 3)
    if close:
        return "; did you mean " + " or ".join(map(repr, close)) + "?"
    shown = ", ".join(sorted({k.qualified_name for k in kernels})[:10])
    return f"; there are {shown}" if shown else "; the application has none"


def unit_of(what: str, kernel_id: KernelId) -> str:
    """Returns the Python module of a kernel.

    Raises:
        InvalidError: the kernel function is gone, or was defined anew.
    """
    for name in unit_names():
        if any(kernel.known_id is kernel_id for kernel in kernels_of(name)):
            return name
    raise InvalidError(
        f"{what}: the application has no kernel '{kernel_id.qualified_name}' of this id any more: its function is "
        "gone or was defined anew; get the id again with lp.get_kernel_id",
        code="LP1033",
    )
