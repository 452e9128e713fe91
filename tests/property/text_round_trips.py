"""IR as text: what a pass leaves is printed, read again and compiled on; the code must be the same, word for word."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from io import StringIO
from unittest.mock import patch

from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from lapilli.frontend.compile import compile_kernels
from lapilli.frontend.kernel import KernelFunction
from lapilli.ir.parse import parse_module
from lapilli.ir.print_gpu import mlir_text
from lapilli.ir.target_env import TargetEnv
from lapilli.passes import pipeline
from lapilli.spirv.device_image import DeviceImage

_CLONES = ("split-modules", "convert-to-spirv")
"""Where a hook gets a copy of what goes on."""
_BEFORE_SPLIT = 2
"""How often `propagate-aspects` runs; splitting goes on with the call graph that the last one found."""


class NotTheSame(AssertionError):
    """Text does not give what it was printed of."""


def read_again(module: ModuleOp, where: str) -> ModuleOp:
    """Returns what the text of a module means; raises `NotTheSame` where that has another text."""
    text = _with_locations(module)
    again = parse_module(text, where).module
    _compare(where, text, _with_locations(again))
    short = mlir_text(module)
    _compare(where, short, mlir_text(parse_module(short, where).module))
    _compare(where, short, mlir_text(again))
    return again


def _with_locations(module: ModuleOp) -> str:
    """Returns text with locations, by which traps and reports know their lines.

    In generic syntax: xDSL's custom syntax of `scf.while` has them where it does not read them.
    """
    stream = StringIO()
    Printer(stream, print_generic_format=True, print_debuginfo=True).print_op(module)
    return stream.getvalue()


def _compare(where: str, text: str, printed: str) -> None:
    if printed != text:
        pairs = zip(text.splitlines(), printed.splitlines(), strict=False)
        first = next((pair for pair in pairs if pair[0] != pair[1]), (text, printed))
        raise NotTheSame(f"after {where}: {first[0]!r} was read as {first[1]!r}")


class Replacing:
    """A hook behind every pass that puts in place of a module what its text means."""

    def __init__(self) -> None:
        self._propagated = 0

    def __call__(self, name: str, module: ModuleOp) -> None:
        again = read_again(module, name)
        self._propagated += name == "propagate-aspects"
        if name in _CLONES or (self._propagated == _BEFORE_SPLIT and name == "propagate-aspects"):
            return
        for op in list(module.body.block.ops):
            op.detach()
            op.erase()
        for op in list(again.body.block.ops):
            op.detach()
            module.body.block.add_op(op)
        module.attributes.clear()
        module.attributes.update(again.attributes)


@contextmanager
def _by_text() -> Iterator[None]:
    hook = Replacing()
    with (
        patch.object(pipeline, "analyse", partial(pipeline.analyse, after_pass=hook)),
        patch.object(pipeline, "lower_image", partial(pipeline.lower_image, after_pass=hook)),
    ):
        yield


def check(kernel: KernelFunction, env: TargetEnv, *, rank: int | None) -> None:
    """Raises `NotTheSame` where compiling by way of text gives other code."""
    usual = _code(compile_kernels([kernel], env, rank=rank))
    with _by_text():
        found = _code(compile_kernels([kernel], env, rank=rank))
    if found != usual:
        raise NotTheSame("the code that was compiled by way of text differs")


def _code(images: tuple[DeviceImage, ...]) -> list[bytes]:
    return [image.spirv for image in images]
