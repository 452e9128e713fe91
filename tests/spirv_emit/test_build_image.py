"""An image is built only from a binary that is valid and agrees with its metadata."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr
from xdsl.dialects.builtin import ModuleOp as BuiltinModuleOp

from lapilli.ir.aspects import Aspect
from lapilli.ir.dialects import spirv
from lapilli.ir.kernel_info import (
    BufferParameter,
    KernelInfo,
    LaunchAbi,
    Requirements,
    ScalarParameter,
    SpecConstantInfo,
    SpecConstantLeaf,
)
from lapilli.ir.split_module import SplitModule
from lapilli.ir.target_env import TargetEnv
from lapilli.spirv.build_image import build_image, check_binary
from lapilli.spirv.emit import Emitted, emit
from lapilli.spirv.errors import SpirvValidationError

Parse = Callable[[str], spirv.ModuleOp]
GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "spirv"
ENV = TargetEnv()


def spec_split(parse: Parse) -> SplitModule:
    """Returns the golden with specialization constants and the metadata that it would come with."""
    leaves = [SpecConstantLeaf(spec_id=i, dtype="f32", offset_bytes=4 * i, size_bytes=4) for i in range(3)]
    flag = SpecConstantLeaf(spec_id=3, dtype="bool", offset_bytes=0, size_bytes=1)
    number = SpecConstantLeaf(spec_id=4, dtype="i32", offset_bytes=0, size_bytes=4)
    return SplitModule(
        kernel_ir=BuiltinModuleOp([]),
        spirv=parse((GOLDEN / "spec_constants.mlir").read_text()),
        kernels=(
            KernelInfo(
                name="k",
                entry_point="k",
                parameters=(BufferParameter(name="y", dtype="f32", ndim=1, access="write"),),
                abi=LaunchAbi(rank=1),
            ),
        ),
        spec_constants=(
            constant("coeff", "FixedArray[f32, 3]", 0, bytes(12), tuple(leaves)),
            constant("flag", "bool", 12, b"\1", (flag,)),
            constant("n", "i32", 16, bytes(4), (number,)),
        ),
        requirements=Requirements(),
    )


def constant(
    name: str, type_: str, offset: int, default: bytes, leaves: tuple[SpecConstantLeaf, ...]
) -> SpecConstantInfo:
    return SpecConstantInfo(
        symbol=name,
        name=name,
        type=type_,
        offset_bytes=offset,
        size_bytes=len(default),
        default=default,
        leaves=leaves,
    )


def memory_split(parse: Parse) -> SplitModule:
    """Returns the golden with buffers and push constants, with metadata."""
    kernel = KernelInfo(
        name="k",
        entry_point="k",
        parameters=(
            BufferParameter(name="x", dtype="f32", ndim=1, access="read_write"),
            BufferParameter(name="y", dtype="f32", ndim=1, access="write", binding=1),
            ScalarParameter(name="n", dtype="i32", offset_bytes=0),
            ScalarParameter(name="a", dtype="f32", offset_bytes=4),
        ),
        abi=LaunchAbi(rank=1, argument_block_bytes=8),
    )
    return SplitModule(
        kernel_ir=BuiltinModuleOp([]),
        spirv=parse((GOLDEN / "memory.mlir").read_text()),
        kernels=(kernel,),
        spec_constants=(),
        requirements=Requirements(),
    )


def refused(split: SplitModule) -> str:
    with pytest.raises(SpirvValidationError) as caught:
        build_image(split, ENV)
    return str(caught.value)


def test_agreeing_image_is_built(parse: Parse) -> None:
    for split in (spec_split(parse), memory_split(parse)):
        image = build_image(split, ENV)
        assert emit(split.spirv, ENV).binary == image.spirv
        assert (split.kernels, split.spec_constants) == (image.kernels, image.spec_constants)
        assert image.target_env == ENV


def test_missing_spec_id_is_reported(parse: Parse) -> None:
    split = spec_split(parse)
    message = refused(replace(split, spec_constants=split.spec_constants[:2]))
    assert "the binary has SpecIds [0, 1, 2, 3, 4], the metadata [0, 1, 2, 3]" in message


def test_wrong_leaf_size_is_reported(parse: Parse) -> None:
    split = spec_split(parse)
    leaf = SpecConstantLeaf(spec_id=4, dtype="i64", offset_bytes=0, size_bytes=8)
    wrong = constant("n", "i64", 16, bytes(8), (leaf,))
    message = refused(replace(split, spec_constants=(*split.spec_constants[:2], wrong)))
    assert "SpecId 4 has 4 bytes in the binary, 8 in the metadata" in message


def test_unknown_binding_is_reported(parse: Parse) -> None:
    split = memory_split(parse)
    kernel = replace(split.kernels[0], parameters=split.kernels[0].parameters[1:])
    message = refused(replace(split, kernels=(kernel,)))
    assert "kernel 'k' uses set 0 binding 0, which no parameter has" in message


def test_writable_read_parameter_is_reported(parse: Parse) -> None:
    split = memory_split(parse)
    x, *rest = split.kernels[0].parameters
    assert isinstance(x, BufferParameter)
    kernel = replace(split.kernels[0], parameters=(replace(x, access="read"), *rest))
    assert "could write parameter 'x', which is only read" in refused(replace(split, kernels=(kernel,)))


def test_push_constants_beyond_the_block_are_reported(parse: Parse) -> None:
    split = memory_split(parse)
    kernel = replace(split.kernels[0], abi=LaunchAbi(rank=1, argument_block_bytes=4))
    message = refused(replace(split, kernels=(kernel,)))
    assert "reads 8 bytes of push constants, the metadata has 4" in message


def test_local_size_ids_are_compared(parse: Parse) -> None:
    split = memory_split(parse)
    abi = LaunchAbi(rank=1, argument_block_bytes=8, local_size_spec_ids=(0, 1, 2))
    message = refused(replace(split, kernels=(replace(split.kernels[0], abi=abi),)))
    assert "takes its local size from SpecIds (None, None, None), the metadata (0, 1, 2)" in message


def test_entry_point_names_are_compared(parse: Parse) -> None:
    split = memory_split(parse)
    message = refused(replace(split, kernels=(replace(split.kernels[0], entry_point="other"),)))
    assert "the binary has entry points ['k'], the metadata ['other']" in message


def test_capability_without_its_aspect_is_reported(parse: Parse) -> None:
    split = SplitModule(
        kernel_ir=BuiltinModuleOp([]),
        spirv=parse((GOLDEN / "narrow_storage.mlir").read_text()),
        kernels=(
            KernelInfo(
                name="k",
                entry_point="k",
                parameters=tuple(
                    BufferParameter(name=name, dtype=dtype, ndim=1, access=access, binding=binding)
                    for binding, (name, dtype, access) in enumerate(
                        [("b", "i8", "read"), ("s", "i16", "write"), ("h", "f16", "read_write")]
                    )
                ),
                abi=LaunchAbi(rank=1),
            ),
        ),
        spec_constants=(),
        requirements=Requirements(aspects=(Aspect.VK_STORAGE_8BIT, Aspect.VK_STORAGE_16BIT)),
    )
    assert build_image(split, ENV).kernels == split.kernels
    message = refused(replace(split, requirements=Requirements(aspects=(Aspect.VK_STORAGE_8BIT,))))
    assert "capability StorageBuffer16BitAccess needs aspect vk_storage_16bit" in message


def test_finding_names_the_python_line(parse: Parse) -> None:
    module = parse((GOLDEN / "memory.mlir").read_text())
    store = next(op for op in module.walk() if isinstance(op, spirv.FMulOp))
    store.location = FileLineColLoc(StringAttr("k.py"), IntAttr(7), IntAttr(9))
    emitted = emit(module, ENV)
    opcode_f_mul = 133
    words = memoryview(emitted.binary).cast("I").tolist()
    position = 5
    while words[position] & 0xFFFF != opcode_f_mul:
        position += words[position] >> 16
    words[position + 1] = words[position + 4]  # the result type becomes a value: invalid
    broken = Emitted(binary=b"".join(word.to_bytes(4, "little") for word in words), marks=emitted.marks)
    with pytest.raises(SpirvValidationError, match="please report") as caught:
        check_binary(broken, ENV)
    assert "k.py:7:9" in {str(diagnostic.location) for diagnostic in caught.value.diagnostics}
