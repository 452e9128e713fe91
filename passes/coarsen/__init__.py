"""Coarsening: several neighbouring work-items in one invocation, with wide and shared memory accesses.

On software drivers the time of a kernel goes per scalar access to a storage buffer and lane.  A coarsened kernel
loads four neighbouring elements at once, and what its work-items have in common only once.

`axes` finds out which values differ between the work-items, `speculate` removes branches, `merged_branches` finds those
that all take where one of them does, `widen` writes the new body
of the values that `lane_values` keeps, `accesses` and `wide_memory` join loads and stores, `cost` says what is left of
them, and `coarsen` decides whether it pays.
"""
