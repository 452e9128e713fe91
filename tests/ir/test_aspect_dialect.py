"""The aspect dialect: what its verifier refuses, and reading its attributes."""

from __future__ import annotations

import pytest

from lapilli.ir.call_graph import functions
from lapilli.ir.dialects import aspect
from lapilli.ir.parse import parse_module
from lapilli.ir.verify import IRError
from lapilli.ir.verify_attributes import verify_attributes


def on_function(attributes: str) -> str:
    return f"func.func @f() attributes {{{attributes}}} {{ func.return }}"


def on_module(attributes: str) -> str:
    return f"module attributes {{{attributes}}} {{ func.func @f() {{ func.return }} }}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (on_function("aspect.declared = 5 : i32"), "'aspect.declared' must be a list of i32"),
        (on_function("aspect.declared = [5]"), "'aspect.declared' must be a list of i32"),
        (on_function("aspect.declared = array<i64: 5>"), "'aspect.declared' must be a list of i32"),
        (on_function('aspect.used = ["fp64"]'), "'aspect.used' must be a list of i32"),
        (on_function("aspect.fixed_targets = [1 : i32]"), "must be a list of strings"),
        (on_function("aspect.reqd_work_group_size = array<i32: 1, 1, 1, 1>"), "must be 1 to 3 sizes"),
        (on_function("aspect.reqd_work_group_size = array<i32: 0>"), "must be 1 to 3 sizes"),
        (on_function("aspect.reqd_work_group_size = array<i32>"), "must be 1 to 3 sizes"),
        (on_function('aspect.reqd_sub_group_size = "huge"'), '"primary" or "automatic"'),
        (on_function("aspect.reqd_sub_group_size = 0 : i32"), '"primary" or "automatic"'),
        (on_function("aspect.external = true"), "'aspect.external' must be a unit attribute"),
        (on_function("aspect.unit"), "'aspect.unit' must be a string"),
        (on_function("aspect.decalred = []"), "unknown attribute 'aspect.decalred', expected one of"),
        (
            on_function("aspect.aspect_values = {}"),
            "may stand on a builtin.module only, found it on func.func",
        ),
        (on_module("aspect.declared = []"), "may stand on functions only, found it on builtin.module"),
        (on_module("aspect.types_that_use_aspects = {A = 1 : i32}"), "from type names to lists of i32"),
        (on_module("aspect.types_that_use_aspects = []"), "from type names to lists of i32"),
        (on_module("aspect.aspect_values = {a = 1 : i32, b = 1 : i32}"), "distinct i32"),
        (on_module("aspect.aspect_values = {a = 1 : i64}"), "distinct i32"),
        (on_module("aspect.requirements = {aspects = []}"), "keys among aspect, reqd_work_group_size"),
        (
            on_function("aspect.external, aspect.reqd_work_group_size = array<i32: 8>"),
            "not allowed on an exported function",
        ),
    ],
)
def test_wrong_attributes_are_refused(text: str, message: str) -> None:
    with pytest.raises(IRError) as caught:
        verify_attributes(parse_module(text).module)
    assert message in str(caught.value)


def test_a_program_has_one_table_of_aspect_numbers() -> None:
    table = "aspect.aspect_values = {fp16 = 5 : i32}"
    text = f"module attributes {{{table}}} {{ module attributes {{{table}}} {{}} }}"
    with pytest.raises(IRError, match=r"'aspect\.aspect_values' is defined twice"):
        verify_attributes(parse_module(text).module)


def test_lists_are_read_in_either_form() -> None:
    for form in ("[6 : i32, 5 : i32, 6 : i32]", "array<i32: 6, 5, 6>"):
        (function,) = functions(parse_module(on_function(f"aspect.declared = {form}")).module)
        assert aspect.declared(function) == {5, 6}


def test_an_empty_declaration_is_not_a_missing_one() -> None:
    (empty,) = functions(parse_module(on_function("aspect.declared = []")).module)
    (missing,) = functions(parse_module(on_function("aspect.unit = 'm'".replace("'", '"'))).module)
    assert aspect.declared(empty) == frozenset()
    assert aspect.declared(missing) is None
    assert aspect.fixed_targets(missing) is None


def test_lists_are_written_in_ascending_order_without_repetition() -> None:
    assert str(aspect.aspects_attribute([6, -1, 5, 6])) == "[-1 : i32, 5 : i32, 6 : i32]"


def test_named_sub_group_sizes_are_no_numbers() -> None:
    (named,) = functions(parse_module(on_function('aspect.reqd_sub_group_size = "primary"')).module)
    (numeric,) = functions(parse_module(on_function("aspect.reqd_sub_group_size = 16 : i32")).module)
    assert aspect.reqd_sub_group_size(named) is None
    assert aspect.reqd_sub_group_size(numeric) == 16


def test_tables_of_the_innermost_module_count() -> None:
    text = """
    module attributes {aspect.types_that_use_aspects = {A = [1 : i32]}} {
      module attributes {aspect.types_that_use_aspects = {A = [2 : i32]}} { func.func @f() { func.return } }
      module { func.func @g() { func.return } }
    }"""
    f, g = functions(parse_module(text).module)
    assert aspect.types_that_use_aspects(f) == {"A": {2}}
    assert aspect.types_that_use_aspects(g) == {"A": {1}}
