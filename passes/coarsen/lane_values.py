"""What each value of a kernel is in each lane of the kernel that is being written."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from xdsl.ir import Attribute, Block, SSAValue

from .axes import Axes
from .lanes import LaneKey, Lanes, project


class LaneValues:
    """The copies of every value of a kernel, one for each key of its axes.

    Args:
        axes: of the values of the kernel.
        lanes: all of an invocation's.
        source: the kernel's body, whose arguments are the same for all lanes.
        block: the new one's, with the same arguments.
    """

    def __init__(self, axes: Axes, lanes: Lanes, source: Block, block: Block) -> None:
        self.axes = axes
        self.all_lanes = lanes
        self.lanes = lanes
        """Those that code is being written for."""
        self._copies: dict[SSAValue, dict[LaneKey, SSAValue]] = {
            old: {(0, 0): new} for old, new in zip(source.args, block.args, strict=True)
        }

    @contextmanager
    def only(self, lanes: Lanes) -> Generator[None]:
        """Code is written for these lanes inside."""
        around = self.lanes
        self.lanes = lanes
        try:
            yield
        finally:
            self.lanes = around

    def keys(self, values: Sequence[SSAValue]) -> list[LaneKey]:
        """Returns a key for each copy of what is computed from `values`, of the lanes that code is written for."""
        return self.lanes.keys(self.axes.of_all(values))

    def of(self, value: SSAValue, key: LaneKey) -> SSAValue:
        """Returns what a value is in a lane."""
        return self._copies[value][project(key, self.axes.of(value))]

    def of_all_lanes(self, value: SSAValue) -> list[SSAValue]:
        """Returns what a value is in each lane that code is written for, once where it is the same."""
        return [self.of(value, key) for key in self.keys((value,))]

    def of_each(self, values: Sequence[SSAValue], key: LaneKey) -> list[SSAValue]:
        """Returns what several values are in a lane."""
        return [self.of(value, key) for value in values]

    def note(self, value: SSAValue, copies: Mapping[LaneKey, SSAValue]) -> None:
        """Says what a value is in some lanes."""
        self._copies.setdefault(value, {}).update(copies)

    def note_all(self, values: Sequence[SSAValue], copies: Sequence[SSAValue]) -> None:
        """Says what values are in all lanes that code is written for, in the order of `expanded`."""
        remaining = iter(copies)
        for value in values:
            self.note(value, {key: next(remaining) for key in self.keys((value,))})

    def expanded(self, values: Sequence[SSAValue], like: Sequence[SSAValue]) -> list[SSAValue]:
        """Returns each value once for every key of the value in `like` that it becomes."""
        pairs = zip(values, like, strict=True)
        return [self.of(value, key) for value, target in pairs for key in self.keys((target,))]

    def expanded_types(self, values: Sequence[SSAValue]) -> list[Attribute]:
        """Returns the types of what `expanded` returns for values that become themselves."""
        return [value.type for value in values for _ in self.keys((value,))]
