"""Which kernel of a bundle a user means, by id, kernel function or name, and how messages name kernels."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..ir.errors import InvalidError
from .kernel_id import KernelId, given_id, no_kernel


def find_kernel(what: str, ids: Sequence[KernelId], kernel: object) -> KernelId | None:
    """Returns the id that a user's value stands for, None where it is none of `ids`.

    Args:
        what: the member that was called, for messages.
        ids: of the bundle's kernels.
        kernel: an id, a kernel function, or a name: module-qualified, or short where that is unambiguous.

    Raises:
        InvalidError: the name is that of several kernels.
        TypeError: the value stands for no kernel.
    """
    if not isinstance(kernel, str):
        found = given_id(kernel)
        if found is None:
            raise no_kernel(what, kernel)
        return found if found in ids else None
    named = [id_ for id_ in ids if id_.qualified_name == kernel] or [id_ for id_ in ids if id_.name == kernel]
    candidates = sorted({id_.qualified_name for id_ in named})
    if len(candidates) > 1:
        raise InvalidError(
            f"{what}: {kernel!r} is the name of several kernels; name one of {', '.join(candidates)}"
        )
    if len(named) <= 1:
        return named[0] if named else None
    meant = given_id(bound_to(candidates[0]))
    return meant if meant in named else named[-1]


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
        return kernel in (id_.qualified_name, id_.name)
    return given_id(kernel) is id_


def listing(ids: Sequence[KernelId]) -> str:
    """Returns what a bundle has, for messages."""
    names = ", ".join(sorted(id_.qualified_name for id_ in ids))
    return f"it has {names}" if names else "it has none"


def shown(kernel: object) -> str:
    """Returns how a message names what a user gave for a kernel."""
    return repr(kernel) if isinstance(kernel, str) else f"'{getattr(kernel, 'qualified_name', kernel)}'"
