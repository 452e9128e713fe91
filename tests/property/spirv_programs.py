"""Random modules of SPIR-V: structured control flow that no front end writes, as other compilers' optimisers leave it.

Loops whose header is the merge block of another construct, continue constructs with branches, dead blocks, phis
everywhere, arrays and structs in variables, functions that take pointers.  Devices must do what `spirv_interpreter`
does, with the module as it is, and read into the dialect and written again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import lapilli as lp
from lapilli.ir.target_env import TargetEnv
from lapilli.spirv.deserialise import deserialise
from lapilli.spirv.emit import emit
from lapilli.spirv.tools import spirv_tools

from .spirv_control_flow import module_text
from .spirv_declarations import BUFFER_WORDS, INPUT, LANES, LOCAL_SIZE
from .spirv_interpreter import Invocation, Module, Pointer, TooLong

ROWS = (LANES, 4, 4)
WIDE_ASPECTS = (lp.Aspect.VK_INT16, lp.Aspect.VK_INT64)


class SpirvProgram:
    """A module with a kernel `main`.

    Args:
        seed: the same gives the same.
        wide: with integers of 16 and 64 bits, which not every device has.
    """

    def __init__(self, seed: int, *, wide: bool) -> None:
        self.seed, self._is_wide = seed, wide
        self.text = self.module_text()

    def module_text(self) -> str:
        """Returns the assembly, which tests may replace."""
        return module_text(self.seed, ("%u", "%u16", "%u64") if self._is_wide else ("%u",))

    def binary(self) -> bytes:
        """Returns the module, read into the dialect and written again for every other pair of seeds.

        Raises:
            AssertionError: the generator wrote something that is no valid module.
        """
        binary = spirv_tools().assemble(self.text, "spv1.3")
        finding = spirv_tools().validate(binary, "vulkan1.1")
        assert finding is None, f"seed {self.seed}: {finding.message}\n{self.text}"
        return emit(deserialise(binary), TargetEnv()).binary if self.seed % 4 > 1 else binary

    @staticmethod
    def buffers() -> tuple[np.ndarray, np.ndarray]:
        """Returns what the kernel is given: results and numbers to read, and rows of each lane."""
        words = np.arange(BUFFER_WORDS, dtype=np.uint64) * 2654435761 >> 7
        words = np.where(np.arange(BUFFER_WORDS) % 2, words & 15, words & 3)
        words[:INPUT] = 0
        return words.astype(np.uint32), np.arange(np.prod(ROWS), dtype=np.uint32).reshape(ROWS) % 7

    def expected(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns the buffers as the interpreter leaves them.

        Raises:
            TooLong: the kernel does too much.
        """
        module, buffers = Module(self.text), self.buffers()
        memory = {
            name: Pointer([[buffer.tolist()]])
            for name, buffer in zip(("%buffer", "%table"), buffers, strict=True)
        }
        for lane in range(LANES):
            Invocation(module, lane, memory).run()
        words, rows = (np.array(pointer.variable[0][0], np.uint32) for pointer in memory.values())
        return words, rows

    def check(self, devices: Sequence[lp.Device | None]) -> None:
        """Raises AssertionError where a device differs; lapilli's interpreter (None) takes Python alone."""
        try:
            wanted = self.expected()
        except TooLong:
            return
        binary = self.binary()
        for device in devices:
            if device is not None and (not self._is_wide or all(map(device.has, WIDE_ASPECTS))):
                self.compare(device, self._found(device, binary), wanted)

    def _found(self, device: lp.Device, binary: bytes) -> list[np.ndarray]:
        context = lp.Context([device])
        bundle = lp.create_kernel_bundle_from_source(context, lp.SourceLanguage.SPIRV, binary)
        kernel = lp.build(bundle).ext_oneapi_get_kernel("main")
        arrays = [lp.asarray(buffer, device=device) for buffer in self.buffers()]
        lp.Queue(device, context=context).parallel_for(lp.NdRange(LANES, LOCAL_SIZE), kernel, *arrays).wait()
        return [array.numpy() for array in arrays]

    def compare(
        self, device: lp.Device | str, found: Sequence[np.ndarray], wanted: Sequence[np.ndarray]
    ) -> None:
        """Raises AssertionError where buffers differ from the interpreter's."""
        for name, a, b in zip(("buffer", "table"), found, wanted, strict=True):
            if (a != b).any():
                place = tuple(int(k) for k in np.argwhere(a != b)[0])
                raise AssertionError(
                    f"seed {self.seed}, {device}: {name}{list(place)} is {a[place]}, expected {b[place]}; "
                    f"{int((a != b).sum())} numbers differ\n{self.text}"
                )
