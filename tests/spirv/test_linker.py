"""Linking binaries, rule by rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lapilli.ir.errors import BuildError, LinkError
from lapilli.spirv.binary import parse
from lapilli.spirv.linker import link
from lapilli.spirv.module_view import ModuleView
from lapilli.spirv.reflect import reflect
from lapilli.spirv.tables import Capability, Op
from lapilli.spirv.tools import spirv_tools
from lapilli.spirv.validation import validate

from .link_modules import Function, Source, assemble

USER = Source([Function("f", imported=True)], entry=["f"])
LIBRARY = Source([Function("f", exported=True, constant=3)])


def linked(*sources: Source, version: str = "spv1.5", **options: bool) -> bytes:
    return link([assemble(source, version) for source in sources], **options)


def assert_runnable(binary: bytes) -> None:
    assert spirv_tools().validate(binary, "vulkan1.3") is None
    assert validate(binary) == ()


def opcodes(binary: bytes) -> list[int]:
    return [item.opcode for item in parse(binary).instructions]


def test_an_import_becomes_the_export_of_its_name() -> None:
    binary = linked(USER, LIBRARY)
    assert_runnable(binary)
    found = reflect(binary)
    assert (found.imports, found.exports) == ((), ())
    assert Capability.Linkage not in found.capabilities
    view = ModuleView(parse(binary))
    (call,) = (i for f in view.functions for i in f.instructions() if i.opcode == Op.FunctionCall)
    (definition,) = (f for f in view.functions if f.result_id == call.operands[0])
    assert len(definition.blocks) == 1
    assert len(view.functions) == 2


def test_order_of_the_modules_does_not_matter() -> None:
    assert_runnable(linked(LIBRARY, USER))


def test_every_unresolved_import_is_named_at_once() -> None:
    user = Source([Function("f", imported=True), Function("g", imported=True)], entry=[])
    with pytest.raises(LinkError) as caught:
        linked(user)
    assert [line.split(",")[0] for line in str(caught.value).splitlines()] == [
        "unresolved symbol 'f'",
        "unresolved symbol 'g'",
    ]


@pytest.mark.behaviour("CLB-09", "CLB-14")
def test_an_unresolved_import_is_a_build_error_that_names_it() -> None:
    with pytest.raises(LinkError, match="unresolved symbol 'f', imported by module 1") as caught:
        linked(USER)
    assert isinstance(caught.value, BuildError)
    # Not even called: all references have to be resolved.
    with pytest.raises(LinkError, match="unresolved symbol 'f'"):
        linked(Source([Function("f", imported=True)], entry=[]), Source([Function("g", exported=True)]))


@pytest.mark.behaviour("CLB-09")
def test_two_exports_of_one_name_are_a_build_error_that_names_it() -> None:
    with pytest.raises(LinkError, match="symbol 'f' is exported twice: by module 2 and module 3"):
        linked(USER, LIBRARY, LIBRARY)
    with pytest.raises(LinkError, match="symbol 'f' is exported twice"):  # nobody asks for it
        linked(Source([], entry=[]), LIBRARY, LIBRARY)


@pytest.mark.behaviour("CLB-15")
def test_private_functions_of_one_name_stay_apart() -> None:
    one = Source([Function("helper", constant=1), Function("f", imported=True)], entry=["helper", "f"])
    two = Source([Function("helper", constant=2), Function("f", exported=True, calls=["helper"])])
    binary = linked(one, two)
    assert_runnable(binary)
    assert opcodes(binary).count(Op.Function) == 4


def test_types_have_to_agree() -> None:
    wrong = Source([Function("f", type="int", exported=True)])
    with pytest.raises(
        LinkError, match=r"symbol 'f' has type \(f32\) -> f32 in module 1 and \(u32\) -> u32 in module 2"
    ):
        linked(USER, wrong)


def test_kinds_have_to_agree() -> None:
    variable = Source(
        extra_annotations=['OpDecorate %v LinkageAttributes "f" Export'],
        extra_globals=["%pointer = OpTypePointer Private %float", "%v = OpVariable %pointer Private"],
    )
    with pytest.raises(LinkError, match="symbol 'f' is a function in module 1 and a variable in module 2"):
        linked(USER, variable)


POINTER = "%pointer = OpTypePointer Private %float"


def variable(kind: str, *, pointee: str = "float") -> Source:
    return Source(
        entry=[] if kind == "Import" else None,
        extra_annotations=[f'OpDecorate %v LinkageAttributes "v" {kind}'],
        extra_globals=[POINTER.replace("%float", f"%{pointee}"), "%v = OpVariable %pointer Private"],
        body=[f"%loaded = OpLoad %{pointee} %v"] if kind == "Import" else [],
        interface=["%v"] if kind == "Import" else [],
    )


def test_variables_are_linked() -> None:
    binary = linked(variable("Import"), variable("Export"))
    assert_runnable(binary)
    assert opcodes(binary).count(Op.Variable) == 1
    with pytest.raises(
        LinkError, match="symbol 'v' has type pointer<f32, Private> of class Private in module 1"
    ):
        linked(variable("Import"), variable("Export", pointee="int"))


def test_an_interface_gets_the_variables_of_linked_functions() -> None:
    library = Source(
        [Function("f", exported=True, constant=3)],
        extra_globals=[POINTER, "%v = OpVariable %pointer Private"],
    )
    text = spirv_tools().disassemble(assemble(library), friendly_names=False)
    label = next(line.split("=")[0].strip() for line in text.splitlines() if "OpLabel" in line)
    v = next(line.split("=")[0].strip() for line in text.splitlines() if "OpVariable" in line)
    type_ = next(line.split("=")[0].strip() for line in text.splitlines() if "OpTypeFloat" in line)
    text = text.replace(f"{label} = OpLabel", f"{label} = OpLabel\n%999 = OpLoad {type_} {v}")
    for version, expected in (("spv1.5", 1), ("spv1.3", 0)):
        used = spirv_tools().assemble(text, version)
        binary = link([assemble(USER, version), used])
        assert spirv_tools().validate(binary, version) is None
        assert len(reflect(binary).entry_points[0].interface) == expected


def test_a_built_in_input_of_several_modules_is_one_variable() -> None:
    """VUID-StandaloneSpirv-OpEntryPoint-09658 allows an entry point one of each; other inputs stay apart."""
    built_in = {
        "extra_annotations": ["OpDecorate %id BuiltIn GlobalInvocationId"],
        "extra_globals": [
            "%v3 = OpTypeVector %int 3",
            "%input = OpTypePointer Input %v3",
            "%id = OpVariable %input Input",
        ],
    }
    load, user_functions = "%loaded = OpLoad %v3 %id", [Function("f", imported=True)]
    user = Source(user_functions, entry=["f"], interface=["%id"], body=[load], **built_in)
    other = Source([], entry=[], main="other", interface=["%id"], body=[load], **built_in)
    binary = linked(user, LIBRARY, other)
    assert_runnable(binary)
    assert opcodes(binary).count(Op.Variable) == 1
    assert [len(entry.interface) for entry in reflect(binary).entry_points] == [1, 1]
    plain = {**built_in, "extra_annotations": ["OpDecorate %id Location 0"]}
    kept = linked(replace(user, **plain), LIBRARY, replace(other, **plain))
    assert opcodes(kept).count(Op.Variable) == 2


def test_partial_linking_leaves_imports_and_a_library_keeps_exports() -> None:
    two = Source([Function("f", imported=True), Function("g", imported=True)], entry=["f", "g"])
    partial = linked(two, LIBRARY, allow_unresolved=True)
    assert [symbol.name for symbol in reflect(partial).imports] == ["g"]
    assert reflect(partial).exports == ()
    library = linked(two, LIBRARY, allow_unresolved=True, keep_exports=True)
    assert [symbol.name for symbol in reflect(library).exports] == ["f"]
    assert Capability.Linkage in reflect(library).capabilities
    rest = assemble(Source([Function("g", exported=True)]))
    assert_runnable(link([library, rest]))


def test_an_import_of_two_modules_that_stays_is_declared_once() -> None:
    other = Source([Function("f", imported=True)], entry=["f"], main="other")
    binary = linked(USER, other, allow_unresolved=True)
    assert len(reflect(binary).imports) == 1
    assert spirv_tools().validate(binary, "spv1.5") is None


def test_equal_types_and_constants_become_one() -> None:
    binary = linked(USER, LIBRARY)
    for opcode in (Op.TypeFloat, Op.TypeInt, Op.TypeVoid):
        assert opcodes(binary).count(opcode) == 1
    assert opcodes(binary).count(Op.TypeFunction) == 3


def test_capabilities_and_extensions_are_united() -> None:
    library = Source([Function("f", exported=True)], capabilities=("Shader", "Linkage", "Float64", "Int64"))
    found = reflect(linked(USER, library)).capabilities
    assert sorted(found) == sorted((Capability.Shader, Capability.Float64, Capability.Int64))


def test_memory_models_have_to_agree() -> None:
    library = Source([], memory_model="Simple")
    with pytest.raises(
        LinkError, match="conflicting memory models: module 1 has GLSL450, module 2 has Simple"
    ):
        linked(USER, library)


def test_entry_points_of_one_name_clash() -> None:
    with pytest.raises(LinkError, match=r"entry point 'main' \(GLCompute\) is in module 1 and in module 2"):
        linked(Source(entry=[]), Source(entry=[]))
    assert_runnable(linked(Source(entry=[]), Source(entry=[], main="other")))


def test_an_entry_point_cannot_be_imported() -> None:
    library = Source(entry=[], extra_annotations=['OpDecorate %main LinkageAttributes "f" Export'], main="k")
    with pytest.raises(LinkError, match=r"symbol 'f' of module 2 is an entry point"):
        linked(USER, library)


def test_recursion_across_modules_is_found() -> None:
    one = Source([Function("g", imported=True), Function("f", exported=True, calls=["g"])], entry=["f"])
    two = Source([Function("f", imported=True), Function("g", exported=True, calls=["f"])])
    with pytest.raises(LinkError, match="recursion: f → g → f"):
        linked(one, two)


def test_a_program_without_entry_point_is_refused() -> None:
    with pytest.raises(LinkError, match="no entry point"):
        linked(LIBRARY)
    assert [symbol.name for symbol in reflect(linked(LIBRARY, keep_exports=True)).exports] == ["f"]


def spec(name: str, spec_id: int, default: int, main: str) -> Source:
    return Source(
        entry=[],
        main=main,
        extra_annotations=[f"OpDecorate %s SpecId {spec_id}"],
        extra_globals=[f"%s = OpSpecConstant %int {default}"],
        body=["%used = OpIAdd %int %s %s"],
        names={"s": name},
    )


def test_one_spec_id_of_two_constants_clashes() -> None:
    with pytest.raises(LinkError, match="SpecId 0 is a in module 1 and b in module 2"):
        linked(spec("a", 0, 4, "k"), spec("b", 0, 4, "l"))
    with pytest.raises(LinkError, match="SpecId 0 is a in module 1 and a in module 2"):
        linked(spec("a", 0, 4, "k"), spec("a", 0, 5, "l"))
    shared = linked(spec("a", 0, 4, "k"), spec("a", 0, 4, "l"))
    assert_runnable(shared)
    assert [constant.spec_id for constant in reflect(shared).spec_constants] == [0]
    apart = linked(spec("a", 0, 4, "k"), spec("b", 1, 4, "l"))
    assert [constant.spec_id for constant in reflect(apart).spec_constants] == [0, 1]


def local_size(main: str, default: int | None) -> Source:
    if default is None:
        return Source(entry=[], main=main)
    return Source(
        entry=[],
        main=main,
        extra_annotations=["OpDecorate %x SpecId 0", "OpDecorate %size BuiltIn WorkgroupSize"],
        extra_globals=[
            "%vector = OpTypeVector %int 3",
            f"%x = OpSpecConstant %int {default}",
            "%size = OpSpecConstantComposite %vector %x %x %x",
        ],
    )


def test_a_local_size_does_not_leak_into_other_modules() -> None:
    with pytest.raises(
        LinkError, match=r"WorkgroupSize of module 1 would change the local size .* of module 2"
    ):
        linked(local_size("k", 8), local_size("l", None))
    with pytest.raises(LinkError, match=r"SpecId 0|each define BuiltIn WorkgroupSize"):
        linked(local_size("k", 8), local_size("l", 4))
    assert_runnable(linked(local_size("k", 8), local_size("l", 8)))


def test_the_highest_version_is_taken() -> None:
    binary = link([assemble(USER, "spv1.3"), assemble(LIBRARY, "spv1.6")])
    assert parse(binary).version == (1, 6)
    assert_runnable(binary)


def test_messages_call_modules_by_their_labels() -> None:
    with pytest.raises(LinkError, match=r"imported by a\.spv"):
        link([assemble(USER)], labels=["a.spv"])


def test_decoration_groups_are_written_out() -> None:
    group = Source(
        entry=[],
        extra_annotations=[
            "OpDecorate %g RelaxedPrecision",
            "%g = OpDecorationGroup",
            "OpGroupDecorate %g %v",
        ],
        extra_globals=[POINTER, "%v = OpVariable %pointer Private"],
    )
    binary = linked(group, Source())
    assert spirv_tools().validate(binary, "spv1.5") is None
    assert Op.DecorationGroup not in opcodes(binary)
    assert opcodes(binary).count(Op.Decorate) == 1


@pytest.mark.parametrize(
    "data", [b"", b"xyz", bytes(20), b"\x03\x02\x23\x07" + bytes(16)], ids=["empty", "odd", "zeros", "header"]
)
def test_bytes_that_are_no_module_are_link_errors(data: bytes) -> None:
    with pytest.raises(LinkError, match="module 2 is no"):
        link([assemble(USER), data])


def test_nothing_to_link() -> None:
    with pytest.raises(LinkError, match="at least one module"):
        link([])


def test_selectors_of_64_bits_keep_their_literals() -> None:
    source = Source(
        entry=[],
        capabilities=("Shader", "Linkage", "Int64"),
        extra_globals=["%wide = OpTypeInt 64 0", "%w = OpConstant %wide 5"],
        body=[
            "OpSelectionMerge %end None",
            "OpSwitch %w %end 4294967297 %case",
            "%case = OpLabel",
            "OpBranch %end",
            "%end = OpLabel",
        ],
    )
    binary = linked(source, LIBRARY)
    assert_runnable(binary)
    assert "4294967297" in spirv_tools().disassemble(binary)
