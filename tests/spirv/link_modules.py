"""Assembly of small modules to link: functions with a result type, imports, exports, calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lapilli.spirv.tools import spirv_tools

TYPES = {"float": "OpTypeFloat 32", "int": "OpTypeInt 32 0"}


@dataclass
class Function:
    """Takes and returns one number of `type`; a definition returns its `constant` added to what it calls give."""

    name: str
    type: str = "float"
    imported: bool = False
    exported: bool = False
    constant: int = 0
    calls: Sequence[str] = ()


@dataclass
class Source:
    """A module; `entry` names functions that the entry point main calls, None: no entry point."""

    functions: Sequence[Function] = ()
    entry: Sequence[str] | None = None
    main: str = "main"
    memory_model: str = "GLSL450"
    capabilities: Sequence[str] = ("Shader", "Linkage")
    extra_annotations: Sequence[str] = ()
    extra_globals: Sequence[str] = ()
    body: Sequence[str] = ()
    interface: Sequence[str] = ()
    names: dict[str, str] = field(default_factory=dict)


def assemble(source: Source, version: str = "spv1.5") -> bytes:
    """Returns the binary of a module."""
    lines = [f"OpCapability {name}" for name in source.capabilities]
    lines.append(f"OpMemoryModel Logical {source.memory_model}")
    if source.entry is not None:
        lines.append(f'OpEntryPoint GLCompute %main "{source.main}" {" ".join(source.interface)}')
        lines.append("OpExecutionMode %main LocalSize 1 1 1")
    lines += [f'OpName %{f.name} "{f.name}"' for f in source.functions]
    lines += [f'OpName %{name} "{text}"' for name, text in source.names.items()]
    for function in source.functions:
        if function.imported or function.exported:
            kind = "Import" if function.imported else "Export"
            lines.append(f'OpDecorate %{function.name} LinkageAttributes "{function.name}" {kind}')
    lines += source.extra_annotations
    lines += ["%void = OpTypeVoid", "%entry = OpTypeFunction %void"]
    for name, text in TYPES.items():
        lines += [f"%{name} = {text}", f"%of_{name} = OpTypeFunction %{name} %{name}"]
        lines.append(f"%zero_{name} = OpConstant %{name} 0")
    constants = sorted({(f.type, f.constant) for f in source.functions if not f.imported and f.constant})
    lines += [f"%c_{type_}_{value} = OpConstant %{type_} {value}" for type_, value in constants]
    lines += source.extra_globals
    for function in sorted(source.functions, key=lambda f: not f.imported):
        lines += _function(source, function)
    if source.entry is not None:
        lines += ["%main = OpFunction %void None %entry", "%main_label = OpLabel", *source.body]
        for number, callee in enumerate(source.entry):
            type_ = next(f.type for f in source.functions if f.name == callee)
            lines.append(f"%main_{number} = OpFunctionCall %{type_} %{callee} %zero_{type_}")
        lines += ["OpReturn", "OpFunctionEnd"]
    return spirv_tools().assemble("\n".join(lines), version)


def _function(source: Source, function: Function) -> list[str]:
    name, type_ = function.name, function.type
    lines = [
        f"%{name} = OpFunction %{type_} None %of_{type_}",
        f"%{name}_parameter = OpFunctionParameter %{type_}",
    ]
    if not function.imported:
        lines.append(f"%{name}_label = OpLabel")
        result = f"%c_{type_}_{function.constant}" if function.constant else f"%zero_{type_}"
        for number, callee in enumerate(function.calls):
            of = next(f.type for f in source.functions if f.name == callee)
            value = f"%{name}_call_{number}"
            lines.append(f"{value} = OpFunctionCall %{of} %{callee} %zero_{of}")
            if of == type_:
                add = "OpFAdd" if type_ == "float" else "OpIAdd"
                lines.append(f"%{name}_sum_{number} = {add} %{type_} {result} {value}")
                result = f"%{name}_sum_{number}"
        lines.append(f"OpReturnValue {result}")
    return [*lines, "OpFunctionEnd"]
