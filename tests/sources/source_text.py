"""What tests of source bundles share: Python text of two kernels, how a bundle is made, a language of a test."""

from __future__ import annotations

import enum

import lapilli as lp
from lapilli.vk_runtime.source_language import CompiledSource, SourceRequest

TWO = """
import lapilli as lp

BASE = 100

def twice(x):
    return 2 * x

@lp.kernel
def iota(out: lp.Array[lp.i32]):
    i = lp.global_id(0)
    out[i] = i

@lp.kernel(name="affine")
def second(x: lp.In[lp.i32], out: lp.Array[lp.i32]):
    i = lp.global_id(0)
    out[i] = twice(x[i]) + BASE
"""


def create(context, language=lp.SourceLanguage.PYTHON, source: str | bytes = TWO):
    return lp.create_kernel_bundle_from_source(context, language, source)


class Mine(enum.Enum):
    """A language of a test."""

    REVERSED = "reversed Python"


class Reversed:
    """Compiles Python that is written backwards."""

    is_binary = False
    option_prefixes = ("--shout",)
    requests: list[SourceRequest]

    def __init__(self) -> None:
        self.requests = []

    def can_compile(self, device: lp.Device) -> bool:
        return True

    def compile(self, request: SourceRequest) -> CompiledSource:
        from lapilli.frontend.python_source import compile_source

        self.requests.append(request)
        return compile_source(
            SourceRequest(
                code=request.code[::-1],
                options=request.options,
                spec_values={},
                env=request.env,
                devices=request.devices,
            )
        )
