"""Dataclasses whose methods are compiled at the first call behave like those compiled at once."""

from __future__ import annotations

import dataclasses
import gc
import subprocess
import sys
import threading
import weakref
from dataclasses import FrozenInstanceError, dataclass, field

import pytest

from lapilli.ir.deferred_definitions import MANY_OBJECTS, deferred_definitions, is_supported

with deferred_definitions():

    @dataclass(frozen=True, slots=True, order=True)
    class Point:
        """A frozen one with slots."""

        x: int
        y: int = 2
        tags: tuple[str, ...] = field(default_factory=tuple, compare=False)

    @dataclass
    class Base:
        """A plain one with what runs after its ``__init__``."""

        a: int
        total: int = field(init=False)

        def __post_init__(self) -> None:
            self.total = self.a

    @dataclass
    class Derived(Base):
        """Inherits fields and calls its parent's ``__init__``."""

        b: int = 0

        def __post_init__(self) -> None:
            super().__post_init__()
            self.total += self.b


def test_a_frozen_class_keeps_its_contract() -> None:
    point = Point(1)
    assert point == Point(1, 2, ("other",)) and point != Point(1, 3) and Point(0, 9) < point
    assert hash(point) == hash(Point(x=1))
    assert repr(point).endswith("Point(x=1, y=2, tags=())")
    assert dataclasses.replace(point, y=5).y == 5 and dataclasses.asdict(point)["tags"] == ()
    with pytest.raises(FrozenInstanceError):
        point.x = 3  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()  # pyright: ignore[reportCallIssue]


def test_subclasses_reach_the_methods_of_their_parents() -> None:
    assert (Derived(1, 2).total, Base(7).total) == (3, 7)
    base = Base.__new__(Base)
    Base.__init__(base, 4)
    assert base == Base(4) and base != Derived(4)


@pytest.mark.skipif(not is_supported(), reason="this Python compiles a dataclass at once")
def test_a_method_puts_itself_in_its_place_at_the_first_call() -> None:
    with deferred_definitions():

        @dataclass
        class Late:
            n: int

    before = Late.__init__
    Late(1)
    assert Late.__init__ is not before
    assert Late.__init__.__qualname__ == f"{Late.__qualname__}.__init__"


@pytest.mark.skipif(not is_supported(), reason="this Python compiles a dataclass at once")
def test_other_threads_and_later_classes_are_left_alone() -> None:
    def is_deferred() -> bool:
        @dataclass
        class Probe:
            n: int

        return "deferred_definitions" in Probe.__init__.__code__.co_filename

    found: list[bool] = []
    with deferred_definitions():
        thread = threading.Thread(target=lambda: found.append(is_deferred()))
        thread.start()
        thread.join()
        found.append(is_deferred())
    assert [*found, is_deferred()] == [False, True, False]


def test_the_collector_goes_on_as_before_and_still_finds_garbage() -> None:
    class Cycle:
        """Refers to itself."""

    with deferred_definitions():
        assert not gc.isenabled() or not is_supported()
        kept = [[n] for n in range(2 * MANY_OBJECTS)]
    assert gc.isenabled() and gc.get_freeze_count() == 0 and len(kept) == 2 * MANY_OBJECTS
    cycle = Cycle()
    cycle.me = cycle  # pyright: ignore[reportAttributeAccessIssue]
    gone = weakref.ref(cycle)
    del cycle
    gc.collect()
    assert gone() is None
    gc.disable()
    try:
        with deferred_definitions():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


PROGRAM = """
from io import StringIO
from lapilli.ir.deferred_definitions import deferred_definitions
from lapilli.ir.deferred_operations import deferred_operations
with deferred_definitions(), deferred_operations():
    from xdsl.dialects import arith, builtin, func
from xdsl.context import Context
from xdsl.parser import Parser
context = Context()
for dialect in (builtin.Builtin, arith.Arith, func.Func):
    context.load_dialect(dialect)
text = 'func.func @f(%a : i32) -> i32 {\\n  %b = arith.addi %a, %a : i32\\n  func.return %b : i32\\n}'
module = Parser(context, text).parse_module()
module.verify()
assert builtin.i32 == builtin.IntegerType(32) and hash(builtin.i32) == hash(builtin.IntegerType(32))
print(module)
"""


def test_deferred_dialects_parse_verify_and_print() -> None:
    done = subprocess.run((sys.executable, "-P", "-c", PROGRAM), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "%b = arith.addi %a, %a : i32" in done.stdout
