"""Branches between blocks as structured control flow, see `passes.lift_cf_to_scf`.

`jumps` has the blocks and what goes between them, `multiplexer` leads several ways through one block, `loops` and
`branches` make operations of `scf` of cycles and of what is left.
"""
