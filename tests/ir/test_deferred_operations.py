"""Operation classes that are defined at first use are those that xDSL defines at once."""

from __future__ import annotations

import contextlib
import copy
import io
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from typing import Any, ClassVar

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, Float16Type, Float32Type, IntegerType, UnitAttr, i32
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.ir import Attribute, Dialect, Operation, ParametrizedAttribute
from xdsl.irdl import (
    AnyAttr,
    AnyOf,
    BaseAttr,
    EqAttrConstraint,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.traits import Commutative, Pure
from xdsl.utils.exceptions import PyRDLError, PyRDLOpDefinitionError, VerifyException

from lapilli.ir import deferred_operations as deferred_operations_module
from lapilli.ir import deferred_operations as module
from lapilli.ir.config import config
from lapilli.ir.create import create
from lapilli.ir.deferred_attributes import own_attributes
from lapilli.ir.deferred_operations import (
    FREQUENT_READS,
    READS_BEFORE_DEFINING,
    deferred_operations,
    define_frequent,
    import_deferred,
)

FORMAT = "$value `:` type($value) `->` type($result) `kind` $kind (`,` `flag` $flag^)? attr-dict"


class Shape(IRDLOperation):
    """What two operations have in common."""

    value = operand_def(IntegerType)
    result = result_def(IntegerType)
    traits = traits_def(Pure())


def make(assembly: str | None = None) -> type[Shape]:
    """Returns a new class of operations, defined at once or later."""

    @irdl_op_definition
    class Made(Shape):
        name = "test.made"
        flag = opt_prop_def(UnitAttr)
        kind = prop_def(IntegerType, default_value=i32)
        traits = traits_def(Commutative())
        assembly_format = assembly

        def verify_(self) -> None:
            if self.flag is not None:
                raise VerifyException("no flags")

    return Made


def deferred(assembly: str | None = None) -> type[Shape]:
    with deferred_operations():
        made = make(assembly)
    assert made in module._deferred  # pyright: ignore[reportPrivateUsage]
    return made


def is_deferred(kind: type[Operation]) -> bool:
    return kind in module._deferred  # pyright: ignore[reportPrivateUsage]


def test_the_first_object_defines_the_class() -> None:
    kind = deferred()
    value = AnyOp(result_types=[i32]).results[0]
    op = kind(operands=[value], result_types=[i32])
    assert not is_deferred(kind)
    assert (op.value, op.result.type, op.properties) == (value, i32, {"kind": i32})
    op.verify()
    op.properties["flag"] = UnitAttr()
    with pytest.raises(VerifyException, match="no flags"):
        op.verify()
    again = kind(operands=[value], result_types=[i32])
    assert type(again) is kind and copy.copy(again).value is value


def test_create_and_clone_define_the_class() -> None:
    value = AnyOp(result_types=[i32]).results[0]
    for make_op in (
        lambda kind: create(kind, (value,), (i32,)),
        lambda kind: kind.create(operands=[value], result_types=[i32]),
    ):
        op = make_op(deferred())
        assert op.properties == {"kind": i32} and op.clone().value is value


@pytest.mark.parametrize("use", ["read", "write", "verify", "print"])
def test_create_leaves_the_class_until_somebody_looks_into_the_operation(use: str) -> None:
    kind = deferred(FORMAT if use == "print" else None)
    value = AnyOp(result_types=[i32]).results[0]
    op = create(kind, (value,), (i32,), {"flag": UnitAttr()} if use == "verify" else {})
    assert is_deferred(kind) and op.properties["kind"] == i32 and op.name == "test.made"
    if use == "read":
        assert kind.value is Shape.value and is_deferred(kind)  # asking the class is not asking an operation
        assert [op.value for _ in range(READS_BEFORE_DEFINING)] == [value] * READS_BEFORE_DEFINING
        assert is_deferred(kind)
        assert op.value is value
    elif use == "write":
        op.flag = UnitAttr()  # pyright: ignore[reportAttributeAccessIssue]
        assert op.properties["flag"] == UnitAttr() and "flag" not in vars(op)
    elif use == "verify":
        with pytest.raises(VerifyException, match="no flags"):
            op.verify()
    else:
        at_once = create(make(FORMAT), (value,), (i32,))
        assert str(op) == str(at_once) and ": i32 -> i32 kind" in str(op)
    assert not is_deferred(kind)


def test_a_class_that_was_read_is_defined_where_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferred_operations_module, "_deferred", {})
    with deferred_operations():
        kind, other = make(), make()
    value = AnyOp(result_types=[i32]).results[0]
    op = create(kind, (value,), (i32,))
    assert [op.value for _ in range(FREQUENT_READS - 1)] == [value] * (FREQUENT_READS - 1)
    assert not define_frequent()
    assert op.value is value
    assert define_frequent() and not is_deferred(kind) and is_deferred(other)
    assert op.value is value and not define_frequent()


def test_a_class_verifies_as_its_deferred_parent_does() -> None:
    with deferred_operations():

        @irdl_op_definition
        class Parent(IRDLOperation):
            name = "test.parent"

            def verify_(self) -> None:
                raise VerifyException("as the parent says")

        @irdl_op_definition
        class Child(Parent):
            name = "test.child"

    with pytest.raises(VerifyException, match="as the parent says"):
        create(Child).verify()


def test_constants_of_imported_modules_are_verified_by_the_tests_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with deferred_operations():

        @irdl_attr_definition
        class Single(ParametrizedAttribute):
            name = "test.single"
            first: IntegerType

        with pytest.raises(VerifyException, match="parameter 'first' does not verify"):
            Single(UnitAttr())  # pyright: ignore[reportArgumentType]
        monkeypatch.setattr(config, "verify", False)
        Single(UnitAttr())  # pyright: ignore[reportArgumentType]
    with pytest.raises(VerifyException, match="parameter 'first' does not verify"):
        Single(UnitAttr())  # pyright: ignore[reportArgumentType]


def test_what_a_compilation_makes_is_verified_by_the_tests_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with deferred_operations():

        @irdl_attr_definition
        class Single(ParametrizedAttribute):
            name = "test.single"
            first: IntegerType

            def verify(self) -> None:
                if self.first == IntegerType(7):
                    raise VerifyException("seven is too odd")

    wrong: Any = UnitAttr()
    with own_attributes():
        with pytest.raises(VerifyException, match="parameter 'first' does not verify"):
            Single(wrong)
        monkeypatch.setattr(config, "verify", False)
        Single(wrong)
        with pytest.raises(VerifyException, match="too odd"):
            Single(IntegerType(7))
        found: list[object] = []
        other = threading.Thread(target=lambda: found.append(outcome(lambda: Single(wrong))))
        other.start()
        other.join()
    assert found == [VerifyException]
    with pytest.raises(VerifyException, match="parameter 'first' does not verify"):
        Single(wrong)


def outcome(do: Callable[[], object]) -> object:
    try:
        return do()
    except VerifyException as error:
        return type(error)


def test_traits_are_there_before_and_stay() -> None:
    kind = deferred()
    assert kind.has_trait(Pure) and kind.has_trait(Commutative())
    before, traits = set(kind.traits), kind.traits
    assert is_deferred(kind)
    definition = kind.get_irdl_definition()
    assert not is_deferred(kind)
    assert kind.traits is traits is definition.traits and set(traits) == before == set(make().traits)


def test_a_subclass_defines_its_parents() -> None:
    parent = deferred()
    child = type("Child", (parent,), {"name": "test.child"})
    op = child(operands=[AnyOp(result_types=[i32]).results[0]], result_types=[i32])
    assert not is_deferred(parent) and op.value.type == i32
    assert child.get_irdl_definition() is parent.get_irdl_definition()


def test_parsing_defines_the_class_and_its_format() -> None:
    kind = deferred(FORMAT)
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(Dialect("test", [AnyOp, kind]))
    text = '%0 = "test.op"() : () -> i32\n%1 = test.made %0 : i32 -> i32 kind i64'
    assert is_deferred(kind)
    parsed = Parser(context, text).parse_module()
    assert not is_deferred(kind)
    parsed.verify()
    assert "%1 = test.made %0 : i32 -> i32 kind i64" in str(parsed)


def test_a_wrong_definition_is_an_error_each_time() -> None:
    with deferred_operations():

        @irdl_op_definition
        class Wrong(IRDLOperation):
            name = "test.wrong"
            what = 5  # neither operand nor result

    for _ in range(2):
        with pytest.raises(PyRDLOpDefinitionError, match="what is neither a function"):
            Wrong()


def test_attributes_are_defined_when_they_are_verified() -> None:
    with deferred_operations():

        @irdl_attr_definition
        class Pair(ParametrizedAttribute):
            name = "test.pair"
            first: IntegerType
            second: Attribute

    definition = Pair.get_irdl_definition()
    assert isinstance(definition, module.DeferredParameters) and definition.name == "test.pair"
    assert "definition" not in vars(definition)
    assert Pair(i32, UnitAttr()).first is i32
    assert [name for name, _ in definition.parameters] == ["first", "second"]
    with pytest.raises(VerifyException, match="parameter 'first' does not verify"):
        Pair(UnitAttr(), i32)  # pyright: ignore[reportArgumentType]


def test_attributes_without_parameters_are_not_defined_at_all() -> None:
    with deferred_operations():

        @irdl_attr_definition
        class Mark(ParametrizedAttribute):
            name = "test.mark"
            SIZE: ClassVar[int] = 3

    Mark().verify()
    assert Mark().parameters == () and "definition" not in vars(Mark.get_irdl_definition())


def test_unions_are_those_that_xdsl_makes() -> None:
    i, f, h = BaseAttr(IntegerType), BaseAttr(Float32Type), BaseAttr(Float16Type)
    cases = [
        (i, f),
        (f, i, f, h),
        (AnyOf.get(f, h), i, h),
        (i, AnyOf.get(f, h), AnyOf.get(i, h)),
        (f, f),
        (f, EqAttrConstraint(i32)),
        (f, AnyAttr()),
        (BaseAttr(Attribute), f),
        (IntegerType, Float32Type),
    ]

    def outcome(parts: tuple[object, ...]) -> object:
        try:
            return AnyOf.get(*parts)  # pyright: ignore[reportArgumentType]
        except PyRDLError as error:
            return str(error)

    expected = [outcome(parts) for parts in cases]
    before = AnyOf.get
    with deferred_operations():
        assert AnyOf.get is not before
        found = [outcome(parts) for parts in cases]
    assert found == expected and AnyOf.get is before
    assert [getattr(union, "attr_constrs", None) for union in found] == [
        getattr(union, "attr_constrs", None) for union in expected
    ]


def test_other_threads_and_later_classes_are_left_alone() -> None:
    found: list[bool] = []
    with deferred_operations():
        thread = threading.Thread(target=lambda: found.append(is_deferred(make())))
        thread.start()
        thread.join()
    assert [*found, is_deferred(make())] == [False, False]


def test_within_itself_it_changes_nothing() -> None:
    with deferred_operations():
        with deferred_operations():
            inner = make()
        outer = make()
        assert is_deferred(inner) and is_deferred(outer)
    for kind in (inner, outer):
        assert kind.get_irdl_definition().name == kind.name
        assert not is_deferred(kind)
    assert not is_deferred(make())


DUMP = """
import contextlib, re, sys
if sys.argv[1] == "later":
    import xdsl.irdl
    from lapilli.ir.deferred_operations import deferred_operations as how
else:
    how = contextlib.nullcontext
with how():
    from lapilli.ir.dialects import aspect, kernel, spec_constant, spirv
    from xdsl.dialects import arith, builtin, func, gpu, math, memref, scf
dialects = [spirv.SPIRV, arith.Arith, builtin.Builtin, func.Func, gpu.GPU, math.Math, memref.MemRef, scf.Scf]
kinds = sorted(
    (kind for dialect in dialects for kind in dialect.operations if hasattr(kind, 'get_irdl_definition')),
    key=lambda kind: kind.name,
)
from lapilli.ir import deferred_operations
print(len(kinds), len(deferred_operations._deferred) > 300, file=sys.stderr)
for kind in kinds:
    definition = kind.get_irdl_definition()
    shown = repr(definition).replace("traits=" + repr(definition.traits), "")
    own = sorted(name for name in kind.__dict__ if name != "__doc__")
    print(kind.name, re.sub(r" at 0x\\w+", "", shown), own, sorted(map(repr, kind.traits)))
for kind in (kind for dialect in dialects for kind in dialect.attributes):
    definition = kind.get_irdl_definition() if hasattr(kind, "get_irdl_definition") else None
    print(kind.name, re.sub(r" at 0x\\w+", "", str(definition and (definition.name, definition.parameters))))
"""


def test_every_class_is_as_xdsl_defines_it() -> None:
    runs = [
        subprocess.run((sys.executable, "-P", "-c", DUMP, when), capture_output=True, text=True, check=False)
        for when in ("later", "at once")
    ]
    assert [run.returncode for run in runs] == [0, 0], [run.stderr for run in runs]
    (count, later), (same_count, at_once) = (run.stderr.split()[-2:] for run in runs)
    assert (count, later, at_once) == (same_count, "True", "False") and int(count) > 400
    assert runs[0].stdout.splitlines() == runs[1].stdout.splitlines()


def test_a_module_that_is_there_is_imported_without_deferring(monkeypatch: pytest.MonkeyPatch) -> None:
    deferred: list[str] = []

    @contextlib.contextmanager
    def noted() -> Generator[None]:
        deferred.append("deferred")
        yield

    monkeypatch.setattr(module, "deferred_imports", noted)
    assert import_deferred("lapilli.ir.create").create is create
    assert deferred == []
    monkeypatch.delitem(sys.modules, "this", raising=False)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert import_deferred("this").c == 97
    assert deferred == ["deferred"]
    monkeypatch.setattr(sys.modules["this"].__spec__, "_initializing", True, raising=False)
    assert import_deferred("this") is sys.modules["this"]
    assert deferred == ["deferred"] * 2
