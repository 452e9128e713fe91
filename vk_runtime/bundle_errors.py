"""What kernel bundles raise for a call that C++ would not compile: `ConstraintError`, a TypeError.

SYCL removes members by state and overloads by type; here the call is refused at once, with what was called, on what,
and what to do instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from ..ir.errors import BuildError, CompileError, InvalidError, KernelArgumentError
from .bundle_state import BundleState

ItemT = TypeVar("ItemT")
MadeT = TypeVar("MadeT")


class OutOfContextError(InvalidError, KernelArgumentError):
    """An array of a native buffer was used on a device of another context."""

    code = "LP3013"


class ConstraintError(InvalidError, TypeError):
    """A member or function that does not exist for this state, or arguments of the wrong kind."""

    code = "LP1030"


_REMEDIES = {
    BundleState.INPUT: "lp.build makes an executable bundle of it, lp.compile an object bundle",
    BundleState.OBJECT: "lp.link makes an executable bundle of it",
    BundleState.EXECUTABLE: "get an earlier state with lp.get_kernel_bundle(…, state=…)",
    BundleState.SOURCE: "lp.build makes an executable bundle of it",
}
"""How to get on from a state."""
_SETTER = "KernelBundle.set_specialization_constant"
_OTHER_REMEDIES = {
    (_SETTER, BundleState.OBJECT): "set it on the input bundle, then build that",
    (_SETTER, BundleState.EXECUTABLE): "set it on the input bundle, then build that",
    (_SETTER, BundleState.SOURCE): "give lp.build props=[lp.SpecValues({name: value})]",
}
"""What to do instead of a call, where it is not that."""


def wrong_state(what: str, state: BundleState, *expected: BundleState) -> ConstraintError:
    """Returns the error for `what` on a bundle of a state that does not have it."""
    wanted = " or ".join(other.name for other in expected)
    remedy = _OTHER_REMEDIES.get((what, state), _REMEDIES[state])
    return ConstraintError(
        f"{what} does not exist for a kernel bundle in state {state.name}; expected {wanted} ({remedy})"
    )


def no_constructor(what: str, factory: str) -> ConstraintError:
    """Returns the error for calling a class that only factories make objects of."""
    return ConstraintError(f"lp.{what} has no public constructor; {factory}", code="LP1031")


def type_name(value: object) -> str:
    """Returns the name of a value's type, for messages."""
    return type(value).__name__


def for_each(items: Iterable[ItemT], make: Callable[[ItemT], MadeT]) -> list[MadeT]:
    """Returns what `make` gives for each item.

    Raises:
        BuildError: of the items for which it raised one; of several, with the text and the findings of all.
    """
    made: list[MadeT] = []
    errors: dict[str, BuildError] = {}  # by text: a helper's error may come with each kernel that calls it
    for item in items:
        try:
            made.append(make(item))
        except BuildError as error:
            errors.setdefault(str(error), error)
    if not errors:
        return made
    try:
        raise _of_all(errors)
    finally:
        errors.clear()  # or error, traceback and this frame were a cycle, which keeps kernels that the program drops


def _of_all(errors: Mapping[str, BuildError]) -> BuildError:
    """Returns the only one of some errors by text, or one that says what all of them do."""
    first, *others = errors.values()
    if not others:
        return first
    kind = CompileError if isinstance(first, CompileError) else BuildError
    findings = [finding for error in errors.values() for finding in error.diagnostics]
    return kind("\n".join(errors), code=first.code, diagnostics=findings)
