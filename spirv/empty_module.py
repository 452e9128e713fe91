"""A valid SPIR-V module that does nothing: what stands for code that a target cannot run.

OpCapability Shader
OpCapability Linkage      ; without it a module must have an entry point
OpMemoryModel Logical GLSL450
"""

from __future__ import annotations

import struct
from typing import Final

EMPTY_MODULE: Final = struct.pack(
    "<12I",
    *(0x07230203, 0x00010000, 0, 1, 0),  # magic, version 1.0, generator, bound, schema
    *(2 << 16 | 17, 1),
    *(2 << 16 | 17, 5),
    *(3 << 16 | 14, 0, 1),
)
