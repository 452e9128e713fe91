"""IR to IR: aspects, splitting, optimisation, lowering to the spirv dialect."""
