"""What is read out of finished binaries."""

from __future__ import annotations

from pathlib import Path

import pytest

from lapilli.spirv.errors import SpirvError
from lapilli.spirv.reflect import LocalSize, PushConstantMember, reflect
from lapilli.spirv.tables import AddressingModel, Capability, ExecutionModel, MemoryModel, StorageClass
from lapilli.spirv.tools import SpirvTools

CORPUS = Path(__file__).parent / "corpus"


def assembled(name: str, tools: SpirvTools, *replacements: tuple[str, str]) -> bytes:
    text = (CORPUS / f"{name}.spvasm").read_text(encoding="utf-8")
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    return tools.assemble(text)


def test_module_facts(saxpy: bytes) -> None:
    found = reflect(saxpy)
    assert found.version == (1, 6)
    assert found.capabilities == (Capability.Shader,)
    assert (found.addressing_model, found.memory_model) == (AddressingModel.Logical, MemoryModel.GLSL450)
    assert (found.extensions, found.imports, found.exports) == ((), (), ())


def test_bindings_and_their_access(saxpy: bytes) -> None:
    entry = reflect(saxpy).entry_point("saxpy")
    assert entry.execution_model == ExecutionModel.GLCompute
    facts = [(b.name, b.descriptor_set, b.binding, b.storage_class, b.is_block) for b in entry.bindings]
    assert facts == [
        ("x", 0, 0, StorageClass.StorageBuffer, True),
        ("y", 0, 1, StorageClass.StorageBuffer, True),
    ]
    assert [(b.non_writable, b.non_readable, b.count) for b in entry.bindings] == [
        (True, False, 1),
        (False, False, 1),
    ]


def test_push_constants(saxpy: bytes) -> None:
    block = reflect(saxpy).entry_point("saxpy").push_constants
    assert block is not None
    assert (block.name, block.size_bytes) == ("args", 8)
    assert block.members == (
        PushConstantMember(name="n", offset_bytes=0, size_bytes=4, type="i32"),
        PushConstantMember(name="a", offset_bytes=4, size_bytes=4, type="f32"),
    )


def test_facts_are_per_entry_point(tools: SpirvTools) -> None:
    found = reflect(assembled("wide_types", tools))
    first, second = found.entry_points
    assert [b.name for b in first.bindings] == ["buf"]
    assert first.push_constants is None
    assert second.bindings == ()
    assert second.push_constants is not None
    assert [m.type for m in second.push_constants.members] == ["pointer", "i64"]


def test_entry_point_uses_what_its_callees_use(tools: SpirvTools) -> None:
    """The buffer is touched by the helper only."""
    text = """
        OpCapability Shader
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %a "with" %buf
        OpEntryPoint GLCompute %b "without"
        OpExecutionMode %a LocalSize 1 1 1
        OpExecutionMode %b LocalSize 1 1 1
        OpDecorate %B Block
        OpMemberDecorate %B 0 Offset 0
        OpMemberDecorate %B 0 NonReadable
        OpDecorate %buf DescriptorSet 2
        OpDecorate %buf Binding 5
        %void = OpTypeVoid
        %fn = OpTypeFunction %void
        %u32 = OpTypeInt 32 0
        %zero = OpConstant %u32 0
        %B = OpTypeStruct %u32
        %pB = OpTypePointer StorageBuffer %B
        %pu = OpTypePointer StorageBuffer %u32
        %buf = OpVariable %pB StorageBuffer
        %a = OpFunction %void None %fn
        %al = OpLabel
        %call = OpFunctionCall %void %h
        OpReturn
        OpFunctionEnd
        %b = OpFunction %void None %fn
        %bl = OpLabel
        OpReturn
        OpFunctionEnd
        %h = OpFunction %void None %fn
        %hl = OpLabel
        %p = OpAccessChain %pu %buf %zero
        OpStore %p %zero
        OpReturn
        OpFunctionEnd
    """
    found = reflect(tools.assemble(text))
    (binding,) = found.entry_point("with").bindings
    assert (binding.descriptor_set, binding.binding, binding.non_readable) == (2, 5, True)
    assert found.entry_point("without").bindings == ()


def test_local_sizes(tools: SpirvTools, saxpy: bytes) -> None:
    wide = reflect(assembled("wide_types", tools))
    assert wide.entry_point("first").local_size == LocalSize(size=(8, 4, 2))
    by_id = reflect(assembled("control_flow", tools)).entry_point("reduce").local_size
    assert by_id == LocalSize(size=(32, 1, 1), spec_ids=(7, None, None))
    # The WorkgroupSize constant wins over the execution mode.
    assert reflect(saxpy).entry_point("saxpy").local_size == LocalSize(size=(64, 1, 1), spec_ids=(0, 1, 2))


def test_specialization_constants_of_every_type(tools: SpirvTools) -> None:
    found = reflect(assembled("wide_types", tools)).spec_constants
    assert [(c.spec_id, c.type, c.size_bytes, c.default) for c in found] == [
        (0, "i8", 1, -3),
        (1, "i64", 8, -5_000_000_000),
        (2, "f16", 2, 1.5),
        (3, "f64", 8, 0.1),
        (4, "bool", 4, False),
    ]


def test_shared_memory(tools: SpirvTools) -> None:
    (tile,) = reflect(assembled("control_flow", tools)).entry_point("reduce").workgroup_variables
    assert (tile.name, tile.size_bytes, tile.length_spec_id) == ("tile", None, None)
    by_id = assembled("control_flow", tools, ("%arr = OpTypeArray %f32 %len2", "%arr = OpTypeArray %f32 %w"))
    (tile,) = reflect(by_id).entry_point("reduce").workgroup_variables
    assert (tile.size_bytes, tile.length_spec_id) == (None, 7)
    fixed = assembled(
        "control_flow", tools, ("%arr = OpTypeArray %f32 %len2", "%arr = OpTypeArray %f32 %two")
    )
    (tile,) = reflect(fixed).entry_point("reduce").workgroup_variables
    assert (tile.size_bytes, tile.length_spec_id) == (8, None)


def test_linkage(tools: SpirvTools) -> None:
    text = """
        OpCapability Linkage
        OpCapability Shader
        OpMemoryModel Logical GLSL450
        OpDecorate %f LinkageAttributes "needed" Import
        OpDecorate %g LinkageAttributes "offered" Export
        %void = OpTypeVoid
        %fn = OpTypeFunction %void
        %f = OpFunction %void None %fn
        OpFunctionEnd
        %g = OpFunction %void None %fn
        %l = OpLabel
        OpReturn
        OpFunctionEnd
    """
    found = reflect(tools.assemble(text))
    assert [(s.name, s.is_function) for s in found.imports] == [("needed", True)]
    assert [(s.name, s.is_function) for s in found.exports] == [("offered", True)]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("OpMemoryModel Logical GLSL450", "", "no OpMemoryModel"),
        ('GLCompute %main "saxpy"', 'GLCompute %rt "saxpy"', "is no function"),
        ("OpDecorate %x Binding 0", "", "has no Binding decoration"),
        ("OpMemberDecorate %Args 1 Offset 4", "", "has no Offset"),
        ("OpDecorate %lx SpecId 0", "OpDecorate %size SpecId 0", "is no scalar specialization constant"),
        ("OpDecorate %size BuiltIn", "OpDecorate %f32 BuiltIn", "no constant of 3 components"),
    ],
)
def test_malformed_modules(old: str, new: str, message: str, tools: SpirvTools) -> None:
    with pytest.raises(SpirvError, match=message):
        reflect(assembled("saxpy", tools, (old, new)))


def test_name_that_is_not_there(saxpy: bytes) -> None:
    with pytest.raises(KeyError):
        reflect(saxpy).entry_point("other")
