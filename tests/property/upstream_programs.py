"""Random kernels written for MLIR, which devices and the interpreter must compute as Python does, one work-item after
the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from unittest.mock import patch

import numpy as np

import lapilli as lp
from lapilli.frontend.compile import load_compiler
from lapilli.frontend.source_images import prepare
from lapilli.ir.interpret.arguments import HostArray
from lapilli.ir.interpret.launch import LaunchShape, interpret_module
from lapilli.ir.parse import parse_module
from lapilli.ir.target_env import TargetEnv
from lapilli.ir.verify import verify_module

from .upstream_control_flow import UpstreamGenerator
from .upstream_lines import Scope
from .upstream_nodes import Item, lines_of
from .upstream_operations import W, X, Y
from .upstream_types import BITS, COMMON, I32, INDEX, WIDE, NotSpecifiedError

ITEMS = Y.shape[0]
INTERPRETED_INDEX_BITS = 64
"""The interpreter finds an index out of range that is too large for the 32 bits of devices."""
_EDGES = (-(2**31), 2**31 - 1, 2**30, -1)


class UpstreamProgram:
    """One kernel.

    Args:
        seed: the same gives the same.
        wide: whether to use every type.
    """

    def __init__(self, seed: int, *, wide: bool = False) -> None:
        self.seed = seed
        generator = UpstreamGenerator(seed, COMMON + WIDE if wide else COMMON)
        scope = Scope([("%i", INDEX), ("%k", I32)], (X, W), is_flat=True)
        generator.start(scope)
        generator.make_arrays(scope)
        generator.block(scope, generator.random.randrange(4, 14))
        self.kinds = generator.keep(scope)
        self.level = generator.random.choice((0, 1, 1, 2))
        self.debug = self.level < 2 and generator.random.random() < 0.2  # unrolled checks compile for long
        self._nodes = scope.nodes
        self.text = "\n".join(
            [
                "gpu.module @m {",
                f"  gpu.func @k({X}, {W}, %k: i32, {Y}) kernel {{",
                "    %i = gpu.global_id x",
                *(f"    {line}" for line in lines_of(scope.nodes)),
                "    gpu.return",
                "  }",
                *lines_of(function for function, *_ in generator.functions),
                "}",
            ]
        )

    def inputs(self) -> tuple[np.ndarray, np.ndarray, int]:
        """Returns `x`, `w` and `k`."""
        pick = np.random.default_rng(self.seed)
        x, w = (pick.integers(-9, 99, shape) for shape in (X.shape, W.shape))
        x[: len(_EDGES)], w[::3, ::2] = _EDGES, -1
        return x.astype(np.int32), w.astype(np.int32), int(pick.integers(-3, 9))

    def results(self) -> np.ndarray:
        """Returns what `y` is before."""
        return np.zeros(Y.shape, np.int32)

    def expected(self, index_bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns what `w` and `y` are in the end; raises `NotSpecifiedError`."""
        (x, w, k), y = self.inputs(), self.results()
        with np.errstate(all="ignore"), patch.dict(BITS, index=index_bits):
            for i in range(ITEMS):
                Item({"%i": i, "%k": k, X.name: x, W.name: w, Y.name: y}).run(self._nodes)
        return w, y

    def check(self, devices: Sequence[lp.Device | None]) -> None:
        """Raises AssertionError where a device, or the interpreter (None), differs."""
        for device in devices:
            try:
                wanted = self.expected(INTERPRETED_INDEX_BITS if device is None else BITS["index"])
            except NotSpecifiedError:
                continue
            found = self._interpreted() if device is None else self._on_device(device)
            self.compare(found, wanted, str(device or "interpreter"))

    def compare(
        self, found: tuple[np.ndarray, np.ndarray], wanted: tuple[np.ndarray, np.ndarray], where: str
    ) -> None:
        """Raises AssertionError where `w` or `y` is not what it should be."""
        where = f"seed {self.seed}, {where}, -O{self.level}{', debug' if self.debug else ''}"
        np.testing.assert_array_equal(found[0], wanted[0], f"{where}: w\n{self.text}")
        for column, kind in enumerate(self.kinds):
            a, b = found[1][:, column], wanted[1][:, column]
            if kind.is_float:  # so that zeros have any sign, and NaN any bits
                a, b = (np.ascontiguousarray(bits).view(np.float32) for bits in (a, b))
            np.testing.assert_array_equal(a, b, f"{where}: y[:, {column}] of {kind}\n{self.text}")

    def _interpreted(self) -> tuple[np.ndarray, np.ndarray]:
        load_compiler()
        parsed = parse_module(self.text, "<M>", for_device=True)
        prepare(parsed, TargetEnv())
        verify_module(parsed.module)
        (x, w, k), y = self.inputs(), self.results()
        given = [HostArray(array.reshape(-1).view(np.uint8), array.shape) for array in (x, w, y)]
        shape = LaunchShape(range_=(ITEMS,), local=(4,))
        interpret_module(parsed.module, "k", shape, [*given[:2], k, given[2]])
        return w, y

    def _on_device(self, device: lp.Device) -> tuple[np.ndarray, np.ndarray]:
        source = lp.create_kernel_bundle_from_source(
            device.default_context, lp.SourceLanguage.MLIR, self.text
        )
        x, w, k = self.inputs()
        there, y = lp.asarray(w, device=device), lp.zeros(Y.shape, lp.i32, device=device)
        with lp.config.override(debug=True) if self.debug else nullcontext():
            kernel = lp.build(source, props=[lp.BuildOptions(f"-O{self.level}")]).get_kernel("k")
            device.default_queue.parallel_for(ITEMS, kernel, lp.asarray(x, device=device), there, k, y)
            return there.numpy(), y.numpy()
