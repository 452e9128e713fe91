"""Device images as bytes: they come back, and nothing else does."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapilli.ir.aspects import Aspect
from lapilli.ir.errors import InvalidError, Location
from lapilli.ir.kernel_info import (
    AspectUse,
    BufferParameter,
    KernelInfo,
    LaunchAbi,
    Requirements,
    ScalarParameter,
    Site,
    SpecConstantInfo,
    SpecConstantLeaf,
)
from lapilli.ir.target_env import BindingModel, TargetEnv
from lapilli.spirv.device_image import FORMAT_VERSION, DeviceImage
from lapilli.spirv.image_codec import MAX_TUPLE

SPIRV = struct.pack("<5I", 0x07230203, 0x10500, 0, 5, 0)


def image() -> DeviceImage:
    location = Location("kernel.py", 3, 5, "saxpy")
    kernel = KernelInfo(
        name="saxpy",
        entry_point="saxpy",
        parameters=(
            ScalarParameter(name="a", dtype="f64", offset_bytes=8),
            ScalarParameter(name="unused", dtype="bool", offset_bytes=None),
            BufferParameter(name="x", dtype="f32", ndim=2, access="read", extent_offsets_bytes=(4, None)),
        ),
        abi=LaunchAbi(
            rank=1,
            range_offsets_bytes=(0,),
            local_size_spec_ids=(3, 4, 5),
            argument_block_bytes=16,
            report_binding=1,
        ),
        required_work_group_size=(4, 2),
        aspects=(int(Aspect.FP64),),
        aspect_uses=(AspectUse(aspect=Aspect.FP64, location=location, what="f64 value"),),
        location=location,
        sites=(Site(kind="assert", text="assert x[i] < {0}", dtypes=("f32",), location=location),),
    )
    leaves = (
        SpecConstantLeaf(spec_id=0, dtype="bool", offset_bytes=0, size_bytes=1),
        SpecConstantLeaf(spec_id=1, dtype="f32", offset_bytes=4, size_bytes=4),
    )
    constant = SpecConstantInfo(
        symbol="module.COEFF",
        name="COEFF",
        type="S",
        offset_bytes=0,
        size_bytes=8,
        default=bytes(8),
        leaves=leaves,
    )
    return DeviceImage(
        spirv=SPIRV,
        kernels=(kernel,),
        spec_constants=(constant,),
        requirements=Requirements(aspects=(int(Aspect.FP64),), work_group_sizes=((4, 2),)),
        target_env=TargetEnv(binding_model=BindingModel.ADDRESS, max_push_constant_bytes=256),
    )


def test_bytes_come_back() -> None:
    again = DeviceImage.from_bytes(image().to_bytes())
    assert again == image()
    assert again.digest == image().digest
    assert isinstance(again.target_env.binding_model, BindingModel)
    assert hash(again) == hash(image())


def test_digest_tells_images_apart() -> None:
    one = image()
    assert len(one.digest) == 32
    others = [
        replace(one, spirv=SPIRV + bytes(4)),
        replace(one, requirements=Requirements()),
        replace(one, target_env=TargetEnv()),
        replace(one, kernels=()),
        replace(one, imports=("f",)),
        replace(one, exports=("f",)),
    ]
    assert len({one.digest, *(other.digest for other in others)}) == 7


def test_code_at_another_place_is_the_same_code() -> None:
    one = image()
    (kernel,) = one.kernels
    moved = one.relocated((replace(kernel, location=Location("elsewhere.py", 7, 1, "k")),))
    assert moved.kernels[0].location != kernel.location
    assert moved.digest == one.digest
    assert replace(moved, kernels=one.kernels) == one
    assert DeviceImage.from_bytes(moved.to_bytes()) == moved


def test_symbols_come_back() -> None:
    one = replace(image(), imports=("f", "g"), exports=("h",))
    again = DeviceImage.from_bytes(one.to_bytes())
    assert (again.imports, again.exports, again.is_object) == (("f", "g"), ("h",), True)
    assert not image().is_object


@given(st.data())
def test_damage_is_found(data: st.DataObject) -> None:
    good = image().to_bytes()
    place = data.draw(st.integers(0, len(good) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != good[place]))
    with pytest.raises(InvalidError):
        DeviceImage.from_bytes(good[:place] + bytes((byte,)) + good[place + 1 :])


@given(st.integers(0, 400), st.binary(max_size=20))
def test_other_lengths_are_refused(length: int, tail: bytes) -> None:
    good = image().to_bytes()
    cut = good[:length] + tail
    if cut != good:
        with pytest.raises(InvalidError):
            DeviceImage.from_bytes(cut)


def test_other_format_version_is_refused() -> None:
    data = bytearray(image().to_bytes())
    data[8] = 99
    with pytest.raises(InvalidError, match="has format 99"):
        DeviceImage.from_bytes(bytes(data))


def forged(edit: Callable[[Any], object]) -> bytes:
    """An image whose header was edited by someone who can compute digests."""
    data = image().to_bytes()
    (header_bytes,) = struct.unpack_from("<I", data, 12)
    fields = json.loads(data[56 : 56 + header_bytes])
    edit(fields)
    header = json.dumps(fields, separators=(",", ":"), sort_keys=True).encode()
    digest = hashlib.sha256(header + b"\0" + SPIRV).digest()
    return (
        struct.pack("<8sIIQ32s", b"LAPILLI\0", FORMAT_VERSION, len(header), len(SPIRV), digest)
        + header
        + SPIRV
    )


def _set(*path: Any) -> Callable[[Any], object]:
    """An edit: the last of `path` becomes the value of what the rest leads to."""

    def edit(fields: Any) -> None:
        *way, last, value = path
        for step in way:
            fields = fields[step]
        fields[last] = value

    return edit


KERNEL = ("kernels", 0)
CONSTANT = ("spec_constants", 0)
TABLE = {"class": "ConstantTable", "offset_bytes": 0, "data": "00000000"}
FIELD = {"class": "SpecField", "spec_id": 0, "dtype": "f32", "offset_bytes": 0}


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (_set("kernels", None), "kernels: expected a list"),
        (_set(*KERNEL, "name", 7), "expected str"),
        (_set(*KERNEL, "parameters", 0, "class", "os.system"), "ScalarParameter"),
        (_set(*KERNEL, "parameters", 0, "extra", 1), "missing or unknown fields extra"),
        (_set(*KERNEL, "abi", "is_masked", 1), "is_masked: expected bool"),
        (_set(*KERNEL, "abi", "rank", True), "rank: expected int"),
        (_set(*KERNEL, "abi", "rank", 10**30), "integer of 64 bits"),
        (_set(*KERNEL, "abi", "local_size_spec_ids", [1, 2]), "2 entries"),
        (_set("target_env", "binding_model", "magic"), "a value of BindingModel"),
        (_set(*CONSTANT, "default", "xyz"), "hexadecimal"),
        (_set(*KERNEL, "parameters", 0, "offset_bytes", 12), "a field of 8 bytes at 12"),
        (_set(*KERNEL, "parameters", 0, "dtype", "f80"), "no data type is called 'f80'"),
        (_set(*KERNEL, "parameters", 2, "access", "append"), "no access mode"),
        (_set(*KERNEL, "parameters", 2, "ndim", 4), "4 dimensions"),
        (_set(*KERNEL, "parameters", 2, "binding", -1), "binding -1"),
        (_set(*KERNEL, "abi", "argument_block_bytes", 6), "argument block of 6 bytes"),
        (_set(*KERNEL, "abi", "rank", 0), "launch range of 0"),
        (_set(*KERNEL, "abi", "local_size_spec_ids", [1, 1, 2]), "SpecIds"),
        (_set(*CONSTANT, "leaves", 1, "offset_bytes", 5), "a scalar at 5"),
        (_set(*CONSTANT, "leaves", 1, "size_bytes", 8), "a scalar of type 'f32' and 8 bytes"),
        (_set(*CONSTANT, "leaves", 1, "spec_id", 0), "a SpecId appears twice"),
        (_set(*CONSTANT, "size_bytes", 4), "a default of 8 bytes"),
        (_set(*CONSTANT, "is_emulated", 1), "is_emulated: expected bool"),
        (_set(*KERNEL, "abi", "spec_fields", [FIELD | {"spec_id": 77}]), "SpecId 77, which no constant has"),
        (
            _set(*KERNEL, "abi", "spec_fields", [FIELD, FIELD]),
            "twice among the hidden fields|no constant has",
        ),
        (_set(*KERNEL, "abi", "spec_fields", [FIELD | {"dtype": "f80"}]), "f80|no constant has"),
        (
            _set(*KERNEL, "abi", "spec_fields", [FIELD | {"offset_bytes": 1 << 20}]),
            "a field of 4|no constant has",
        ),
        (_set(*KERNEL, "abi", "tables", [TABLE | {"offset_bytes": 1 << 20}]), "a field of 4 bytes at"),
        (_set(*KERNEL, "abi", "tables", [TABLE | {"offset_bytes": -4}]), "a field of 4 bytes at -4"),
        (_set(*KERNEL, "abi", "tables", [TABLE | {"data": ""}]), "not made of words"),
        (_set(*KERNEL, "abi", "tables", [TABLE | {"data": "00"}]), "not made of words"),
        (_set(*KERNEL, "abi", "tables", [TABLE]), "tables among push constants"),
        (_set("requirements", "work_group_sizes", [[0]]), "not positive"),
        (_set(*KERNEL, "sites", 0, "kind", "crash"), "no check is called 'crash'"),
        (_set(*KERNEL, "sites", 0, "text", "{0.__class__}"), "names '0.__class__'"),
        (_set(*KERNEL, "sites", 0, "text", "{1}"), "names '1'"),
        (_set(*KERNEL, "sites", 0, "text", "{0:999999999}"), "which is not known"),
        (_set(*KERNEL, "sites", 0, "text", "{0"), "malformed"),
        (_set(*KERNEL, "sites", 0, "dtypes", ["bf16"]), "a check or print of values"),
        (_set(*KERNEL, "abi", "report_binding", -1), "a report buffer at binding -1"),
        (_set(*KERNEL, "abi", "report_binding", None), "without a report buffer"),
        (_set("imports", ["b", "a"]), "imports are not sorted"),
        (_set("imports", ["a"] * (MAX_TUPLE + 1)), f"imports: {MAX_TUPLE + 1} entries"),
        (_set("exports", ["a", "a"]), "exports are not sorted"),
        (lambda fields: fields.update(imports=["a"], exports=["a"]), "imports and exports 'a'"),
    ],
)
def test_forged_headers_are_refused(edit: Callable[[Any], object], message: str) -> None:
    with pytest.raises(InvalidError, match=message):
        DeviceImage.from_bytes(forged(edit))


def test_unedited_header_is_taken() -> None:
    assert DeviceImage.from_bytes(forged(lambda fields: None)) == image()


def test_header_without_end_is_refused() -> None:
    header = b"[" * 200_000
    prefix = struct.pack("<8sIIQ32s", b"LAPILLI\0", FORMAT_VERSION, len(header), 0, bytes(32))
    with pytest.raises(InvalidError, match="no JSON"):
        DeviceImage.from_bytes(prefix + header)


def test_code_that_is_no_spirv_is_refused() -> None:
    with pytest.raises(InvalidError, match=r"no little-endian SPIR-V"):
        DeviceImage.from_bytes(replace(image(), spirv=b"ELF\0").to_bytes())


def test_kernel_by_name_and_lacking_aspects() -> None:
    assert image().kernel("saxpy").entry_point == "saxpy"
    with pytest.raises(KeyError):
        image().kernel("other")
    assert image().lacking(frozenset((Aspect.FP16,))) == (Aspect.FP64,)
    assert image().lacking(frozenset((Aspect.FP64,))) == ()
