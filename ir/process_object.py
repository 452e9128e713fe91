"""ProcessObject: what belongs to this process and has an identity.  Standard library only."""

from __future__ import annotations

from typing import Self


class ProcessObject:
    """Base of objects that are themselves when they are copied, and cannot be pickled."""

    __slots__ = ()

    _instead = "make one where it is needed"
    """What to do where somebody wants to pickle one."""

    _called = ""
    """What users call it, where that is not the name of its class."""

    def __copy__(self) -> Self:
        """Returns the object itself: copies are one object, as SYCL's common reference semantics have it."""
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __getstate__(self) -> object:
        name = f"lp.{self._called or type(self).__name__}"
        raise TypeError(f"an {name} belongs to this process and cannot be pickled; {self._instead}")
