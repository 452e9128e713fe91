"""What to write instead of operations of upstream's that kernels on Vulkan cannot have."""

from __future__ import annotations

_HOST = "it is for the host: a kernel is a gpu.func … kernel, which lp.build compiles and a queue launches"
_ADVICE = {
    "gpu.launch": _HOST,
    "gpu.alloc": _HOST,
    "gpu.dealloc": _HOST,
    "gpu.memcpy": _HOST,
    "gpu.memset": _HOST,
    "gpu.host_": _HOST,
    "gpu.wait": _HOST,
    "gpu.subgroup_mma": "write spirv.KHR.CooperativeMatrix operations for the matrices of a sub-group",
    "gpu.rotate": "write gpu.shuffle idx with the number of the work-item",
    "gpu.warp_execute_on_lane_0": "compare gpu.lane_id with 0 in an scf.if",
    "vector.warp_execute_on_lane_0": "compare gpu.lane_id with 0 in an scf.if",
    "vector.print": "write gpu.printf",
    "vector.type_cast": "load and store vectors with vector.load, vector.store and the transfers",
    "vector.scalable": "give vectors a fixed length",
    "vector.vscale": "give vectors a fixed length",
    "memref.dma": "write memref.copy: there are no copies beside the kernel",
    "memref.extract_aligned_pointer": "arrays have no addresses there: pass the array and an offset",
    "memref.realloc": "make memory as large as it will be: its size is known when the kernel is compiled",
    "scf.forall": "write the loop of a kernel, without tensors, as scf.forall (%i) in (8) { … }",
    "affine.dma": "write affine.load and affine.store: there are no copies beside the kernel",
    "linalg.": "run mlir-opt --convert-linalg-to-loops before",
    "tensor.": "run mlir-opt --one-shot-bufferize before: kernels have arrays (memref)",
    "bufferization.": "finish bufferization with mlir-opt before: kernels have arrays (memref)",
    "complex.": "run mlir-opt --convert-complex-to-standard before, with the parts as two numbers",
    "llvm.": "keep what arith, math and memref say: lowered to llvm it is for another target",
    "nvvm.": "keep what gpu says: lowered to nvvm it is for another target",
    "rocdl.": "keep what gpu says: lowered to rocdl it is for another target",
    "nvgpu.": "keep what gpu and vector say: nvgpu is for another target",
}


def advice_for(name: str) -> str | None:
    """Returns what to do about an operation, None where nothing is known of it."""
    found = [prefix for prefix in _ADVICE if name.startswith(prefix)]
    return _ADVICE[max(found, key=len)] if found else None
