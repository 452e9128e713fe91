"""Kernel-level IR to the spirv dialect."""

from .convert import convert_to_spirv, lower

__all__ = ["convert_to_spirv", "lower"]
