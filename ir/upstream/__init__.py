"""Operations of upstream's dialects that xDSL lacks, or has in other forms: they are read, never printed.

`operations` has the table of all of them; `passes.lower_upstream` and `passes.lower_vectors` replace them.
"""
