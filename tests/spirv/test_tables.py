"""The grammar tables: known facts, the hand-written newer facts against SPIRV-Tools, the generator."""

from __future__ import annotations

from pathlib import Path

import pytest

from lapilli.spirv import tables
from lapilli.spirv.binary import parse
from lapilli.spirv.tables import Capability, Decoration, Op, StorageClass
from lapilli.spirv.tools import SpirvTools
from lapilli.tools import gen_spirv_tables


def test_instruction_of_load() -> None:
    info = tables.instruction(Op.Load)
    assert info is not None
    assert (info.name, info.has_result_type, info.has_result_id) == ("OpLoad", True, True)
    assert [(o.kind, o.quantifier) for o in info.operands] == [
        ("IdResultType", ""),
        ("IdResult", ""),
        ("IdRef", ""),
        ("MemoryAccess", "?"),
    ]


def test_unknown_numbers_have_no_row() -> None:
    assert tables.instruction(60000) is None
    assert tables.opcode_name(60000) == "opcode 60000"
    assert tables.enumerant("Decoration", 60000) is None


def test_aliases_share_a_number_under_the_core_name() -> None:
    assert tables.opcode("OpSDotKHR") == tables.opcode("OpSDot") == 4450
    assert tables.opcode_name(4450) == "OpSDot"
    assert tables.enumerant_value("StorageClass", "PhysicalStorageBufferEXT") == 5349
    assert tables.enumerant_name("StorageClass", 5349) == "PhysicalStorageBuffer"


def test_names_that_are_no_identifiers() -> None:
    assert tables.Dim.Dim1D == 0
    assert tables.FunctionControl.None_ == 0


def test_masks_are_spelt_bit_by_bit() -> None:
    assert tables.enumerant_name("MemorySemantics", 0x108) == "AcquireRelease|WorkgroupMemory"
    assert tables.is_bit_enum("MemorySemantics")
    assert not tables.is_bit_enum("StorageClass")


def test_enumerants_bring_parameters_and_capabilities() -> None:
    row = tables.enumerant("Decoration", Decoration.SpecId)
    assert row is not None
    assert [p.kind for p in row.parameters] == ["LiteralInteger"]
    row = tables.enumerant("StorageClass", StorageClass.StorageBuffer)
    assert row is not None
    assert (row.min_version, row.extensions) == (
        (1, 3),
        ("SPV_KHR_storage_buffer_storage_class", "SPV_KHR_variable_pointers"),
    )


def test_capabilities_imply_transitively() -> None:
    closure = tables.capability_closure([Capability.GroupNonUniformBallot, Capability.Geometry])
    assert closure >= {Capability.GroupNonUniform, Capability.Shader, Capability.Matrix}
    assert Capability.Kernel not in closure


def test_glsl_numbers() -> None:
    assert tables.GLSL_STD_450["Sqrt"] == (31, 1)
    assert tables.glsl_std_450_name(50) == "Fma"


def test_every_row_decodes() -> None:
    for number in tables.result_layouts():
        info = tables.instruction(number)
        assert info is not None
        assert tables.opcode(info.name) == number


def test_newer_facts_agree_with_spirv_tools(tools: SpirvTools) -> None:
    """What the installed grammar lacks is assembled from names and compared as numbers."""
    text = """
        OpCapability CooperativeMatrixKHR
        OpCapability BFloat16TypeKHR
        OpCapability BFloat16DotProductKHR
        OpCapability BFloat16CooperativeMatrixKHR
        %1 = OpTypeFloat 16 BFloat16KHR
        %2 = OpTypeCooperativeMatrixKHR %1 %3 %4 %5 %6
        %7 = OpCooperativeMatrixLoadKHR %2 %8 %9 %10 Aligned 4
        OpCooperativeMatrixStoreKHR %8 %7 %9 %10
        %11 = OpCooperativeMatrixMulAddKHR %2 %7 %7 %7 MatrixASignedComponentsKHR|SaturatingAccumulationKHR
        %12 = OpCooperativeMatrixLengthKHR %4 %2
    """
    if tools.version < "v2025.3":
        pytest.skip(f"SPIRV-Tools {tools.version} is too old for bfloat16")
    found = parse(tools.assemble(text, "vulkan1.3")).instructions
    names = [
        "CooperativeMatrixKHR",
        "BFloat16TypeKHR",
        "BFloat16DotProductKHR",
        "BFloat16CooperativeMatrixKHR",
    ]
    assert [i.operands[0] for i in found[:4]] == [tables.enumerant_value("Capability", n) for n in names]
    assert [i.name for i in found[4:]] == [
        "OpTypeFloat",
        "OpTypeCooperativeMatrixKHR",
        "OpCooperativeMatrixLoadKHR",
        "OpCooperativeMatrixStoreKHR",
        "OpCooperativeMatrixMulAddKHR",
        "OpCooperativeMatrixLengthKHR",
    ]
    assert found[4].operands == (16, tables.enumerant_value("FPEncoding", "BFloat16KHR"))
    mask = "MatrixASignedComponentsKHR|SaturatingAccumulationKHR"
    assert tables.enumerant_name("CooperativeMatrixOperands", found[8].operands[3]) == mask


@pytest.mark.skipif(
    not (gen_spirv_tables.GRAMMAR_FOLDER / gen_spirv_tables.CORE_GRAMMAR).exists(),
    reason="the SPIR-V grammar (package spirv-headers) is not installed",
)
def test_generated_tables_are_what_the_grammar_gives(tmp_path: Path) -> None:
    grammar = gen_spirv_tables.GRAMMAR_FOLDER / gen_spirv_tables.CORE_GRAMMAR
    if '"revision" : 1,' not in grammar.read_text(encoding="utf-8")[:4000]:
        pytest.skip("another revision of the grammar is installed")
    assert gen_spirv_tables.main(["--check"]) == 0
    assert gen_spirv_tables.main(["--output-folder", str(tmp_path), "--check"]) == 1
    assert gen_spirv_tables.main(["--output-folder", str(tmp_path)]) == 0
    assert gen_spirv_tables.main(["--output-folder", str(tmp_path), "--check"]) == 0
