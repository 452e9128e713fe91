"""``lp.spirv``: what users may call on binaries."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

import pytest

import lapilli as lp
import lapilli.spirv
from lapilli.spirv.binary import parse

from .link_modules import Function, Source, assemble

NAMES = ("assemble", "disassemble", "freeze_spec_constants", "link", "set_spec_constant_defaults", "validate")
USER = assemble(Source([Function("f", imported=True)], entry=["f"]))
LIBRARY = assemble(Source([Function("f", exported=True, constant=3)]))


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_a_function_whatever_is_imported(name: str) -> None:
    # The submodules that would hide a function if they had its name.
    assert importlib.import_module("lapilli.spirv.linker") and importlib.import_module(
        "lapilli.spirv.validation"
    )
    assert callable(getattr(lp.spirv, name))
    assert name in dir(lp.spirv)
    assert name not in [module.name for module in pkgutil.iter_modules(lapilli.spirv.__path__)]


def test_it_is_there_without_an_import_of_its_own() -> None:
    code = (
        "import sys, lapilli as lp; print(callable(lp.spirv.link), 'xdsl' in sys.modules, 'spirv' in dir(lp))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "True"]
    with pytest.raises(AttributeError, match="no attribute 'lnik'"):
        lp.spirv.lnik  # type: ignore[attr-defined] # noqa: B018


def test_assemble_link_validate_disassemble() -> None:
    linked = lp.spirv.link([USER, LIBRARY])
    assert lp.spirv.validate(linked) is None
    text = lp.spirv.disassemble(linked)
    assert "OpEntryPoint" in text
    assert parse(lp.spirv.assemble(text)).version == parse(linked).version == (1, 5)  # as the text says
    assert parse(lp.spirv.assemble(text, target_env="vulkan1.3")).version == (1, 6)
    unsaid = text[text.index("OpCapability") :]
    assert parse(lp.spirv.assemble(unsaid)).version == (1, 6)


NEWER = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
%void = OpTypeVoid
%kind = OpTypeFunction %void
%int = OpTypeInt 32 0
%one = OpTypeStruct %int
%other = OpTypeStruct %int
%pointer = OpTypePointer Private %one
%kept = OpVariable %pointer Private
%main = OpFunction %void None %kind
%first = OpLabel
%value = OpLoad %one %kept
%same = OpCopyLogical %other %value
OpReturn
OpFunctionEnd
"""


def test_text_of_newer_instructions_that_lists_no_variables_is_for_the_validator() -> None:
    made = lp.spirv.assemble(NEWER)
    with pytest.raises(lp.BuildError, match=r"used by entry point 'main'.*not listed as an interface"):
        lp.spirv.validate(made)
    assert parse(lp.spirv.assemble(NEWER.replace("CopyLogical %other", "CopyObject %one"))).version == (1, 3)


def test_an_object_is_valid_only_outside_of_vulkan() -> None:
    assert lp.spirv.validate(LIBRARY, target_env="spv1.5") is None
    with pytest.raises(lp.BuildError, match=r"invalid SPIR-V for vulkan1\.3: .*Linkage") as caught:
        lp.spirv.validate(LIBRARY)
    assert "Linkage" in caught.value.log
    with pytest.raises(lp.InvalidError):
        lp.spirv.validate(LIBRARY, target_env="vulkan9")


@pytest.mark.behaviour("CLB-09")
def test_mistakes() -> None:
    with pytest.raises(lp.LinkError, match="unresolved symbol 'f'"):
        lp.spirv.link([USER])
    with pytest.raises(lp.InvalidError, match="expected a list of modules, found a single one"):
        lp.spirv.link(USER)  # type: ignore[arg-type]
    with pytest.raises(lp.InvalidError, match="as bytes, found str"):
        lp.spirv.link(["a.spv"])  # type: ignore[list-item]
    with pytest.raises(lp.BuildError):
        lp.spirv.assemble("OpNonsense")
    with pytest.raises(lp.InvalidError, match="expected assembly text as a str, found bytes"):
        lp.spirv.assemble(USER)  # type: ignore[arg-type]
    with pytest.raises(lp.InvalidError):
        lp.spirv.disassemble(b"no module")
    with pytest.raises(lp.InvalidError):
        lp.spirv.freeze_spec_constants(b"no module")
    with pytest.raises(lp.KernelArgumentError, match="SpecId 0; it has none"):
        lp.spirv.set_spec_constant_defaults(USER, {0: 1})
    with pytest.raises(lp.KernelArgumentError, match=r"values by SpecId, \{0: 1\.5\}, found 3 of type int"):
        lp.spirv.set_spec_constant_defaults(USER, 3)  # type: ignore[arg-type]


def test_invalid_input_is_refused() -> None:
    broken = Source(
        entry=[],
        extra_globals=["%pointer = OpTypePointer Private %float", "%v = OpVariable %pointer Private"],
        body=["%loaded = OpLoad %int %v"],
    )
    with pytest.raises(lp.LinkError, match="no valid SPIR-V module"):
        lp.spirv.link([assemble(broken)])
