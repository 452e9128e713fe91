"""Structs that contain pointers to themselves: lists and trees behind buffer addresses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lapilli as lp
from lapilli.ir.dialects.spirv.recursive_structs import has_references, member_type
from lapilli.ir.dialects.spirv.types import PointerType, StructType
from lapilli.ir.parse import parse_module
from lapilli.ir.target_env import TargetEnv
from lapilli.ir.verify import verify_module
from lapilli.spirv.binary import ModuleBuilder, Section, parse
from lapilli.spirv.deserialise import deserialise
from lapilli.spirv.emit import EmissionError, emit
from lapilli.spirv.errors import SpirvError
from lapilli.spirv.tables import Decoration, Op
from lapilli.spirv.tools import SpirvTools

from .test_round_trip import SHADERS, compiled, round_trip
from .test_upstream import upstream

(LISTS,) = (path for path in SHADERS if path.stem == "lists")
NODE = "!spirv.struct<Node, (i32 [0], !spirv.ptr<!spirv.struct<Node>, PhysicalStorageBuffer> [8])>"
BOTH = (
    "!spirv.struct<A, (!spirv.ptr<!spirv.struct<B, (!spirv.ptr<!spirv.struct<A>, PhysicalStorageBuffer> [0])>, "
    "PhysicalStorageBuffer> [0])>"
)
POINTER = f"!spirv.ptr<{NODE}, PhysicalStorageBuffer>"
HEAD = f"!spirv.ptr<!spirv.struct<({POINTER} [0])>, StorageBuffer>"
LIST = f"""
spirv.module PhysicalStorageBuffer64 GLSL450
    requires #spirv.vce<v1.5, [Shader, PhysicalStorageBufferAddresses], []> {{
  spirv.GlobalVariable @head bind(0, 0) : {HEAD}
  spirv.func @second() "None" {{
    %head = spirv.mlir.addressof @head : {HEAD}
    %0 = spirv.Constant 0 : i32
    %1 = spirv.Constant 1 : i32
    %place = spirv.AccessChain %head[%0] : {HEAD}, i32
    %first = spirv.Load "StorageBuffer" %place : {POINTER}
    %next = spirv.AccessChain %first[%1] : {POINTER}, i32
    %second = spirv.Load "PhysicalStorageBuffer" %next ["Aligned", 8] : {POINTER}
    %value = spirv.AccessChain %second[%0] : {POINTER}, i32
    spirv.Store "PhysicalStorageBuffer" %value, %1 ["Aligned", 8] : i32
    spirv.Return
  }}
  spirv.EntryPoint "GLCompute" @second, @head
  spirv.ExecutionMode @second "LocalSize", 1, 1, 1
}}
"""


def read_type(text: str) -> StructType:
    source = f"spirv.module Logical GLSL450 {{ spirv.GlobalVariable @v : !spirv.ptr<{text}, Private> }}"
    (module,) = parse_module(source).module.body.ops
    (variable,) = module.regions[0].block.ops
    type_ = variable.properties["type"]
    assert isinstance(type_, PointerType) and isinstance(type_.pointee, StructType)
    return type_.pointee


@pytest.mark.parametrize("text", [NODE, BOTH])
def test_the_text_comes_back(text: str) -> None:
    type_ = read_type(text)
    assert str(type_) == text
    assert has_references(type_)


def test_a_member_is_written_out_from_where_it_begins() -> None:
    first = read_type(BOTH)
    pointer = member_type(first, 0)
    assert isinstance(pointer, PointerType) and isinstance(pointer.pointee, StructType)
    assert str(pointer.pointee) == BOTH.replace("<A", "<C").replace("<B", "<A").replace("<C", "<B")
    again = member_type(pointer.pointee, 0)
    assert isinstance(again, PointerType)
    assert again.pointee == first


def test_upstream_reads_it(tools: SpirvTools, tmp_path: Path) -> None:
    module = parse_module(LIST).module
    verify_module(module)
    (ours,) = module.body.ops
    data = emit(ours, TargetEnv()).binary
    assert tools.validate(data, "vulkan1.3") is None
    path, out = tmp_path / "list.mlir", tmp_path / "list.spv"
    upstream("mlir-opt", str(ours))
    path.write_text(str(ours))
    upstream("mlir-translate", path, "--no-implicit-module", "--serialize-spirv", "-o", str(out))
    assert str(deserialise(out.read_bytes())).count(NODE) == str(deserialise(data)).count(NODE) > 5


def test_a_struct_cannot_hold_itself() -> None:
    with pytest.raises(Exception, match="struct A holds itself; a pointer to itself it could hold"):
        read_type("!spirv.struct<A, (i32, !spirv.array<2 x !spirv.struct<(!spirv.struct<A>)>>)>")


def test_a_name_alone_is_no_struct() -> None:
    module = parse_module(
        """spirv.module Logical GLSL450 {
          spirv.GlobalVariable @v : !spirv.ptr<!spirv.ptr<!spirv.struct<Node>, PhysicalStorageBuffer>, Private>
        }"""
    ).module
    verify_module(module)
    with pytest.raises(EmissionError, match="no struct Node stands around"):
        emit(next(iter(module.body.ops)), TargetEnv())


def _all_to_all(count: int) -> bytes:
    builder = ModuleBuilder((1, 5))
    builder.add(Section.CAPABILITIES, Op.Capability, (1,))
    builder.add(Section.MEMORY_MODEL, Op.MemoryModel, (5348, 1))
    pointers = [builder.new_id() for _ in range(count)]
    for pointer in pointers:
        builder.add(Section.GLOBALS, Op.TypeForwardPointer, (pointer, 5349))
    for pointer in pointers:
        struct = builder.add_result(Section.GLOBALS, Op.TypeStruct, tuple(pointers))
        for index in range(count):
            builder.add(Section.ANNOTATIONS, Op.MemberDecorate, (struct, index, Decoration.Offset, 8 * index))
        builder.add(Section.GLOBALS, Op.TypePointer, (5349, struct), result_id=pointer)
    private = builder.add_result(Section.GLOBALS, Op.TypePointer, (6, pointers[0]))
    builder.add_result(Section.GLOBALS, Op.Variable, (6,), result_type=private)
    return builder.build()


def test_structs_that_all_point_to_each_other() -> None:
    small = deserialise(_all_to_all(3))
    count = sum(item.opcode == Op.TypeStruct for item in parse(emit(small, TargetEnv()).binary).instructions)
    assert count == 3
    with pytest.raises(SpirvError, match="the type has more than 8192 parts"):
        deserialise(_all_to_all(12))


def test_pointers_only_that_point_to_themselves() -> None:
    builder = ModuleBuilder((1, 5))
    builder.add(Section.MEMORY_MODEL, Op.MemoryModel, (5348, 1))
    pointer = builder.new_id()
    builder.add(Section.GLOBALS, Op.TypeForwardPointer, (pointer, 5349))
    builder.add(Section.GLOBALS, Op.TypePointer, (5349, pointer), result_id=pointer)
    private = builder.add_result(Section.GLOBALS, Op.TypePointer, (6, pointer))
    builder.add_result(Section.GLOBALS, Op.Variable, (6,), result_type=private)
    with pytest.raises(SpirvError, match="a type that contains itself"):
        deserialise(builder.build())


def _expected(nodes: np.ndarray) -> int:
    """Runs the shader over nodes of five words: value, number, link, both; or tree, next, value."""
    at, total = 0, 0
    for k in range(5):
        near = nodes[at, 2]
        around = nodes[nodes[near, 0], 0] + 3 * nodes[nodes[near, 1], 2]
        total = 2 * total + around + nodes[at, 1]
        nodes[at, 1] += 1
        at = nodes[at, 3 + k % 2]
    return int(total)


@pytest.mark.device
@pytest.mark.native_only("foreign kernels are not interpreted")
@pytest.mark.parametrize("optimised", [False, True], ids=["", "optimised"])
def test_runs_as_what_was_read(device: lp.Device, tmp_path: Path, optimised: bool) -> None:
    binary = round_trip(compiled(LISTS, "vulkan1.2", tmp_path, optimised=optimised), TargetEnv())
    memory = lp.zeros((16, 5), lp.u64, device=device)  # 0 to 7 are trees, 8 to 15 links
    start = memory.buffer.device_address
    if not start:
        pytest.skip("the device has no addresses of buffers")
    rng = np.random.default_rng(3)
    numbers, trees, links = (rng.integers(*ends, (16, 2)) for ends in ((1, 99), (0, 8), (8, 16)))
    nodes = np.zeros((16, 5), np.int64)
    nodes[:8] = np.hstack([numbers[:8], links[:8, :1], trees[:8]])
    nodes[8:, :3] = np.hstack([trees[8:, :1], links[8:, :1], numbers[8:, :1]])
    words = nodes.astype(np.uint64)
    addresses = nodes.astype(np.uint64) * np.uint64(40) + np.uint64(start)
    words[:8, 2:], words[8:, :2] = addresses[:8, 2:], addresses[8:, :2]
    memory.copy_from(words)
    heads, sums = lp.asarray(np.full(1, start, np.uint64), device=device), lp.zeros(1, lp.u32, device=device)
    context = lp.Context([device])
    bundle = lp.build(lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.SPIRV, binary))
    queue = lp.Queue(device, context=context)
    queue.parallel_for(1, bundle.ext_oneapi_get_kernel("main"), heads, sums).wait()
    assert int(sums.numpy()[0]) == _expected(nodes)
    np.testing.assert_array_equal(memory.numpy()[:8, 1], nodes[:8, 1].astype(np.uint64))
