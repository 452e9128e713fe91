"""What becomes of the operations that programs written for MLIR have and the front end never makes.

`lower_upstream` and `lower_vectors`, beside this folder, are the passes; each file here is for one kind of operation.
"""
