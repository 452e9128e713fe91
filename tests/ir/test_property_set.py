"""The property set 'SYCL/device requirements', byte by byte."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapilli as lp
from lapilli.ir.kernel_info import Requirements
from lapilli.ir.property_set import (
    PROPERTY_TYPE,
    REQUIREMENT_SET,
    requirement_properties,
    requirements_of_properties,
)


def properties(**members: object) -> dict[str, bytes]:
    (name, found), *others = requirement_properties(Requirements(**members)).items()  # type: ignore[arg-type]
    assert name == "SYCL/device requirements" and not others
    return found


@pytest.mark.behaviour("REQ-01", "REQ-07")
def test_the_set_is_there_and_empty_without_requirements():
    assert requirement_properties(Requirements()) == {"SYCL/device requirements": {}}


@pytest.mark.behaviour("REQ-02", "REQ-08")
def test_aspects_are_little_endian_and_ascending():
    assert properties(aspects=(6, 1)) == {"aspect": bytes.fromhex("01000000 06000000")}
    assert properties(aspects=(6, 0x10002)) == {"aspect": bytes.fromhex("06000000 02000100")}
    assert PROPERTY_TYPE == "BYTE_ARRAY" and all(
        isinstance(v, bytes) for v in properties(aspects=(1,)).values()
    )


@pytest.mark.behaviour("REQ-03")
def test_sub_group_sizes():
    assert properties(sub_group_sizes=(32, 16)) == {"reqd_sub_group_size": bytes.fromhex("10000000 20000000")}


@pytest.mark.behaviour("REQ-04")
@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (((64,),), "01000000 40000000"),
        (((64, 4),), "02000000 40000000 04000000"),
        (((2, 3, 4),), "03000000 02000000 03000000 04000000"),
        (((64,), (8, 8)), "01000000 40000000 02000000 08000000 08000000"),
    ],
)
def test_work_group_sizes_in_the_order_of_the_attribute(sizes, expected):
    found = properties(work_group_sizes=sizes)
    assert found == {"reqd_work_group_size": bytes.fromhex(expected)}
    assert requirements_of_properties({REQUIREMENT_SET: found}).work_group_sizes == sizes


@pytest.mark.behaviour("REQ-05")
@pytest.mark.parametrize("size", [(), (1, 1, 1, 1)])
def test_other_numbers_of_dimensions_are_refused(size):
    with pytest.raises(lp.InvalidError, match="1 to 3"):
        properties(work_group_sizes=(size,))
    with pytest.raises(lp.InvalidError, match="1 to 3"):
        lp.reqd_work_group_size(*size)


@pytest.mark.behaviour("REQ-06")
def test_fixed_targets_are_there_even_if_empty():
    assert "fixed_target" not in properties()
    assert properties(fixed_targets=()) == {"fixed_target": b""}
    assert properties(fixed_targets=(0x20001, 0x20000)) == {
        "fixed_target": bytes.fromhex("00000200 01000200")
    }
    assert requirements_of_properties({REQUIREMENT_SET: {"fixed_target": b""}}).fixed_targets == ()
    assert requirements_of_properties({REQUIREMENT_SET: {}}).fixed_targets is None


def test_sizes_beyond_uint32_stay_too_large():
    assert properties(work_group_sizes=((2**32 + 1,),))["reqd_work_group_size"] == bytes.fromhex(
        "01000000 ffffffff"
    )


def test_the_reader_takes_the_spelling_of_dpcpps_tools():
    both = {"aspects": bytes.fromhex("06000000"), "aspect": bytes.fromhex("05000000"), "other": b"x"}
    assert requirements_of_properties({REQUIREMENT_SET: both, "SYCL/misc": {"x": b""}}).aspects == (5, 6)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("aspect", b"\0\0\0"),
        ("reqd_sub_group_size", b"\0"),
        ("reqd_work_group_size", bytes.fromhex("00000000")),
        ("reqd_work_group_size", bytes.fromhex("04000000 01000000 01000000 01000000 01000000")),
        ("reqd_work_group_size", bytes.fromhex("02000000 01000000")),
        ("reqd_work_group_size", bytes.fromhex("01000000 00000000")),
        ("reqd_work_group_size", bytes.fromhex("ffffffff 01000000")),
        ("fixed_target", b"\0" * ((1 << 20) + 4)),
    ],
)
def test_damaged_properties_are_refused(name, data):
    with pytest.raises(lp.InvalidError, match=name):
        requirements_of_properties({REQUIREMENT_SET: {name: data}})


_numbers = st.lists(st.integers(1, 2**32 - 1), unique=True, max_size=5).map(lambda n: tuple(sorted(n)))
_sizes = st.lists(
    st.lists(st.integers(1, 2**32 - 1), min_size=1, max_size=3).map(tuple), unique=True, max_size=4
).map(tuple)


@settings(deadline=None, derandomize=True)
@given(_numbers, _sizes, _numbers, st.none() | _numbers)
def test_what_is_written_reads_back(aspects, work_groups, sub_groups, targets):
    wanted = Requirements(
        aspects=aspects, work_group_sizes=work_groups, sub_group_sizes=sub_groups, fixed_targets=targets
    )
    assert requirements_of_properties(requirement_properties(wanted)) == wanted


@settings(deadline=None, derandomize=True, max_examples=300)
@given(
    st.sampled_from(["aspect", "reqd_sub_group_size", "reqd_work_group_size", "fixed_target"]),
    st.binary(max_size=64),
)
def test_any_bytes_give_requirements_or_an_invalid_error(name, data):
    with contextlib.suppress(lp.InvalidError):
        requirement_properties(requirements_of_properties({REQUIREMENT_SET: {name: data}}))
