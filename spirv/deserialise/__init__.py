"""SPIR-V binaries back to the `spirv` dialect: `deserialise(data)`."""

from .module import deserialise

__all__ = ["deserialise"]
