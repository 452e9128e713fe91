"""The objects that say which work-item runs, as the compiler sees them: `WorkItem`, and `IdType` of its indices.

A `WorkItem` holds nothing: what its members mean is the same for every object of one kind, so two of a kind are
one object, and handing one on to a helper costs nothing.  An id of two or three dimensions is a vector of
indices; an id of one dimension is its only index, as SYCL converts between the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from .ir_types import INDEX_TYPE
from .parameter_types import WorkItemKind
from .types import ScalarType
from .vector_types import VecType


@dataclass(frozen=True, slots=True)
class WorkItem:
    """A work-item, work-group or sub-group; made by `work_item`."""

    kind: WorkItemKind
    rank: int

    def __str__(self) -> str:
        names = {"item": "lp.Item", "nd_item": "lp.NdItem", "group": "lp.Group", "sub_group": "sub-group"}
        name = names.get(self.kind, self.kind)
        return f"{name}[{self.rank}]" if name.startswith("lp.") else name


@cache
def work_item(kind: WorkItemKind, rank: int) -> WorkItem:
    """Returns the one object of a kind and rank."""
    return WorkItem(kind, rank)


@dataclass(frozen=True, slots=True)
class Member:
    """A member function of a `WorkItem`, or of an id or range, before it is called."""

    owner: object
    """A `WorkItem`, or the value of an id."""
    name: str


@dataclass(frozen=True, repr=False)
class IdType(VecType):  # pyright: ignore[reportIncompatibleMethodOverride] - its own text
    """Two or three indices: a position in a range, or its extents."""

    @property
    def spelling(self) -> str:
        """``Id[2]``."""
        return f"Id[{self.size}]"

    def __repr__(self) -> str:
        return f"lp.Id[{self.size}]"


@cache
def id_type(rank: int, index: ScalarType = INDEX_TYPE) -> IdType:
    """Returns the type of ids of `rank` dimensions, 2 or 3, whose indices are of type `index`."""
    return IdType(index, rank)
