"""The spirv dialect to SPIR-V binaries, and everything about binaries."""
