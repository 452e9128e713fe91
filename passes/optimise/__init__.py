"""Canonicalisation, common subexpressions, loop invariants, dead code, barriers.

`pipeline.optimise` is what the compiler runs; `canonicalize`, `cse`, `dce` and the others are the same steps as
separate passes.
"""
