"""Lowers kernel-level text and checks what comes out: verified, emitted, accepted by SPIRV-Tools."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from xdsl.ir import Operation

from lapilli.ir.context import make_context
from lapilli.ir.kernel_info import KernelInfo, SpecConstantInfo
from lapilli.ir.parse import parse_module
from lapilli.ir.target_env import TargetEnv
from lapilli.ir.verify import verify_module
from lapilli.passes.convert_to_spirv import convert_to_spirv
from lapilli.spirv.emit import emit
from lapilli.spirv.tools import spirv_tools

PRELUDE = '%i = "gpu.global_id"() <{dimension = #gpu<dim x>}> : () -> index'

CONTEXT = make_context()
"""Shared: loading dialects takes longer than most tests."""


@dataclass(frozen=True)
class Lowered:
    """What the lowering made of a module."""

    module: Operation
    kernels: tuple[KernelInfo, ...]
    spec_constants: tuple[SpecConstantInfo, ...]

    @property
    def text(self) -> str:
        return str(self.module)

    @property
    def info(self) -> KernelInfo:
        (info,) = self.kernels
        return info

    def names(self, skip: tuple[str, ...] = ("spirv.Constant",)) -> list[str]:
        """Names of all operations inside the last function, without the dialect."""
        function = [op for op in self.module.walk() if op.name == "spirv.func"][-1]
        return [op.name.removeprefix("spirv.") for op in function.walk() if op.name not in skip][1:]


def lower_text(text: str, env: TargetEnv | None = None) -> Lowered:
    """Lowers `text` for `env`; fails unless the result verifies, emits and validates."""
    env = env or TargetEnv()
    source = parse_module(text, context=CONTEXT).module
    verify_module(source)
    before = str(source)
    module, kernels, spec_constants = convert_to_spirv(source, env)
    assert str(source) == before, "the input was changed"
    module.verify()
    binary = emit(module, env).binary
    assert spirv_tools().validate(binary, env.spirv_tools_name) is None
    printed = str(module)
    assert str(parse_module(printed, context=CONTEXT).module.body.block.first_op) == printed
    return Lowered(module, kernels, spec_constants)


@pytest.fixture
def lower() -> Callable[..., Lowered]:
    """The function `lower_text`."""
    return lower_text


def kernel_text(body: str, parameters: str = "", attributes: str = "") -> str:
    """A kernel called k with `body` behind the work-item's index %i."""
    return f"""
    func.func @k({parameters}) attributes {{gpu.kernel, kernel.rank = 1 : i32{attributes}}} {{
      {PRELUDE}
      {body}
      func.return
    }}"""


@pytest.fixture
def kernel() -> Callable[..., str]:
    """The function `kernel_text`."""
    return kernel_text
