"""What stands in lapilli for names that users of NumPy, CuPy, Numba, Taichi, Triton, torch and SYCL look for in it.

Data alone: asking whether ``lapilli`` has a name imports this and must load nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

SCALARS = {
    "bool": "lp.bool_",
    "bfloat16": "lp.bf16",
    "half": "lp.f16",
    "float": "lp.f32",
    "float_": "lp.f32",
    "double": "lp.f64",
    "int": "lp.i32",
    "int_": "lp.i32",
    "uint": "lp.u32",
    "complex64": "lp.f32x2 for the real and the imaginary part",
    "complex128": "lp.f64x2 for the real and the imaginary part",
    **{f"float{bits}": f"lp.f{bits}" for bits in (16, 32, 64)},
    **{f"int{bits}": f"lp.i{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"lp.u{bits}" for bits in (8, 16, 32, 64)},
    **{f"float{size}": f"lp.f32x{size}" for size in (2, 3, 4)},
    **{f"int{size}": f"lp.i32x{size}" for size in (2, 3, 4)},
    **{f"uint{size}": f"lp.u32x{size}" for size in (2, 3, 4)},
    **{f"vec{size}": f"lp.f32x{size}" for size in (2, 3, 4)},
}
"""Scalar and vector types, on the host and in kernels alike."""

_ATOMICS = {
    "Add": "add",
    "Sub": "sub",
    "Min": "min",
    "Max": "max",
    "And": "and_",
    "Or": "or_",
    "Xor": "xor",
    "Exch": "exchange",
    "Exchange": "exchange",
    "CAS": "compare_exchange",
    "CompSwap": "compare_exchange",
    "CompareExchange": "compare_exchange",
}
"""What follows ``atomic`` in CUDA and GLSL, and ``Interlocked`` in HLSL."""

IN_KERNELS = {
    "thread_idx": "lp.local_id(d); dimension 0 is the slowest",
    "block_idx": "lp.group_id(d); dimension 0 is the slowest",
    "block_dim": "lp.local_range(d)",
    "threadIdx": "lp.local_id(d); dimension 0 is the slowest",
    "blockIdx": "lp.group_id(d); dimension 0 is the slowest",
    "blockDim": "lp.local_range(d)",
    "gridDim": "lp.group_range(d)",
    "grid_dim": "lp.group_range(d)",
    "grid": "lp.global_id(0)",
    "gridsize": "lp.global_range(0)",
    "program_id": "lp.group_id(d) for the group, lp.global_id(d) for the work-item",
    "num_programs": "lp.group_range(d)",
    "num_groups": "lp.group_range(d)",
    "get_num_groups": "lp.group_range(d)",
    "group_size": "lp.local_range(d)",
    "local_size": "lp.local_range(d)",
    "global_size": "lp.global_range(d)",
    "get_global_id": "lp.global_id(d)",
    "get_local_id": "lp.local_id(d)",
    "get_group_id": "lp.group_id(d)",
    "get_global_size": "lp.global_range(d)",
    "get_local_size": "lp.local_range(d)",
    "gl_GlobalInvocationID": "lp.global_id(d); GLSL's x is the last dimension, which is unit-stride",
    "gl_LocalInvocationID": "lp.local_id(d); GLSL's x is the last dimension, which is unit-stride",
    "gl_WorkGroupID": "lp.group_id(d); GLSL's x is the last dimension, which is unit-stride",
    "gl_WorkGroupSize": "lp.local_range(d)",
    "gl_NumWorkGroups": "lp.group_range(d)",
    "gl_LocalInvocationIndex": "lp.local_linear_id()",
    "syncthreads": "lp.barrier()",
    "__syncthreads": "lp.barrier()",
    "syncthreads_and": "lp.group.all(c)",
    "syncthreads_count": 'lp.group.reduce(lp.i32(c), "add")',
    "syncthreads_or": "lp.group.any(c)",
    "work_group_barrier": "lp.barrier()",
    "syncwarp": "lp.sub_group.barrier()",
    "threadfence": 'lp.mem_fence("device")',
    "shared": "lp.local.array(shape, dtype)",
    "shared_array": "lp.local.array(shape, dtype)",
    "warp": "lp.sub_group.shuffle(v, lane), and its kin",
    "local_array": "lp.local.array(shape, dtype), or lp.private.array(shape, dtype) for one work-item",
    "warpsize": "lp.sub_group.size()",
    "printf": "print(…)",
    "laneid": "lp.sub_group.id()",
    "where": "lp.select(condition, if_true, if_false)",
    "selp": "lp.select(condition, if_true, if_false)",
    "cast": "the type's name: lp.i32(x); lp.bitcast(x, lp.i32) keeps the bits",
    "arange": "a loop over range, or the work-item's own index lp.global_id(0)",
    "atomic_add": "lp.atomic.add(a, i, v)",
    "atomic_max": "lp.atomic.max(a, i, v)",
    "atomic_min": "lp.atomic.min(a, i, v)",
    "atomic_cas": "lp.atomic.compare_exchange(a, i, expected, v)",
    **{
        f"{before}{operation}": f"lp.atomic.{ours}(a, i, {'expected, v' if ours == 'compare_exchange' else 'v'})"
        for before in ("atomic", "Interlocked")
        for operation, ours in _ATOMICS.items()
    },
    "atomicInc": "lp.atomic.add(a, i, 1), which wraps at 2**32 only",
    "atomicDec": "lp.atomic.sub(a, i, 1), which wraps at 0 only",
    "array": "lp.private.array(shape, dtype), or lp.local.array(shape, dtype) for the work-group",
    "constexpr": "a parameter n: lp.Const[lp.i32]; numbers around a kernel are constants as they stand",
    "clock": "event.elapsed_ns on the host, of a queue made with profiling=True; kernels have no clock",
    "clock64": "event.elapsed_ns on the host, of a queue made with profiling=True; kernels have no clock",
    "unroll": "lp.static_range(n), whose rounds are written out",
    "work_group": 'lp.group, as in lp.group.reduce(v, "add")',
    "workgroup": 'lp.group, as in lp.group.reduce(v, "add")',
    "load": "a[i]; lp.atomic.load(a, i) where others write it meanwhile",
    "store": "a[i] = v; lp.atomic.store(a, i, v) where others use it meanwhile",
    "ndrange": "one for loop over range for each dimension",
    "grouped": "one for loop over range for each dimension",
    "static": "lp.static_range(n), or a plain if whose condition is known",
    "sync": "lp.barrier()",
    "sync_threads": "lp.barrier()",
    "thread_id": "lp.global_id(0), or lp.local_id(0) within the group",
    "tid": "lp.global_id(0), or lp.local_id(0) within the group",
    "cdiv": "(a + b - 1) // b",
    "sum": 'lp.group.reduce(v, "add"), or a loop',
    "maximum": 'max(a, b); group functions take the operation by name: lp.group.reduce(v, "max")',
    "minimum": 'min(a, b); group functions take the operation by name: lp.group.reduce(v, "min")',
    "plus": 'a + b; group functions take the operation by name: lp.group.reduce(v, "add")',
    "multiplies": 'a * b; group functions take the operation by name: lp.group.reduce(v, "mul")',
    "cumsum": 'lp.group.inclusive_scan(v, "add")',
    "random": "a counter or xorshift generator as a helper; devices have no random numbers of their own",
    "randn": "a counter or xorshift generator as a helper; devices have no random numbers of their own",
    "rand": "a counter or xorshift generator as a helper; devices have no random numbers of their own",
    "ffs": "lp.ctz(n) + 1 where n is not 0",
    "popc": "lp.popcount(n)",
    **dict.fromkeys(("bit_count", "bitcount", "bitCount", "countbits", "popcll", "popcnt"), "lp.popcount(n)"),
    **dict.fromkeys(
        ("bit_reverse", "bitfieldReverse", "bitreverse", "brev", "reversebits"), "lp.reverse_bits(n)"
    ),
    **dict.fromkeys(("clzll", "countLeadingZeros", "leading_zeros"), "lp.clz(n)"),
    **dict.fromkeys(("findMSB", "firstbithigh"), "31 - lp.clz(n) of 32 bits"),
    **dict.fromkeys(("countTrailingZeros", "findLSB", "firstbitlow", "trailing_zeros"), "lp.ctz(n)"),
    **dict.fromkeys(("mulhi", "umulhi"), "lp.math.mul_hi(a, b)"),
    **dict.fromkeys(
        ("as_type", "as_uint", "asuint", "float_as_uint", "floatBitsToUint", "reinterpret"),
        "lp.bitcast(x, lp.u32)",
    ),
    **dict.fromkeys(("as_int", "asint", "float_as_int", "floatBitsToInt"), "lp.bitcast(x, lp.i32)"),
    **dict.fromkeys(("as_float", "asfloat", "int_as_float", "uintBitsToFloat"), "lp.bitcast(x, lp.f32)"),
    "ballot": "lp.sub_group.ballot(c)",
    **dict.fromkeys(("warp_size", "warpSize"), "lp.sub_group.size()"),
    **dict.fromkeys(("shfl", "shfl_sync"), "lp.sub_group.shuffle(v, lane)"),
    **{
        f"shfl_{name}{end}": f"lp.sub_group.shuffle_{name}(v, {argument})"
        for name, argument in (("xor", "mask"), ("up", "delta"), ("down", "delta"))
        for end in ("", "_sync")
    },
    "reduce_over_group": 'lp.group.reduce(v, "add"), or lp.sub_group.reduce',
    "inclusive_scan_over_group": 'lp.group.inclusive_scan(v, "add")',
    "exclusive_scan_over_group": 'lp.group.exclusive_scan(v, "add")',
    "group_broadcast": "lp.group.broadcast(v, lane), or lp.sub_group.broadcast",
    "any_of_group": "lp.group.any(c), or lp.sub_group.any",
    "all_of_group": "lp.group.all(c), or lp.sub_group.all",
    "none_of_group": "not lp.group.any(c)",
    "joint_reduce": 'lp.group.reduce(v, "add"), v being what a loop of each work-item adds up',
    "joint_inclusive_scan": 'lp.group.inclusive_scan(v, "add") of each piece as long as the group, in a loop',
    "joint_exclusive_scan": 'lp.group.exclusive_scan(v, "add") of each piece as long as the group, in a loop',
    "atomic_ref": "lp.atomic.add(a, i, v), and its kin, on the element itself",
    "atomic_fence": "lp.mem_fence(scope, order)",
    "fetch_add": "lp.atomic.add(a, i, v)",
    "inversesqrt": "lp.math.rsqrt(x)",
    "lerp": "lp.math.mix(a, b, t)",
    "reflect": "v - 2.0 * lp.math.dot(v, n) * n",
    "saturate": "lp.math.clamp(x, 0.0, 1.0)",
    "sigmoid": "1.0 / (1.0 + lp.math.exp(-x))",
    "Vector": "lp.f32x3(x, y, z)",
    "Matrix": "lp.FixedArray[lp.f32, 2, 2](1, 0, 0, 1)",
    "mad": "lp.math.fma(a, b, c)",
    "mad24": "a * b + c",
    "mul24": "a * b",
    **dict.fromkeys(("rotate", "rotate_left", "rotl"), "x << k | x >> (32 - k) on unsigned integers"),
    **dict.fromkeys(("rotate_right", "rotr"), "x >> k | x << (32 - k) on unsigned integers"),
    **dict.fromkeys(("argsort", "sort"), "the sort as loops, or sort on the host"),
    "sincos": "lp.math.sin(x) and lp.math.cos(x)",
    "select_from_group": "lp.sub_group.shuffle(v, lane)",
    "permute_group_by_xor": "lp.sub_group.shuffle_xor(v, mask)",
    "shift_group_left": "lp.sub_group.shuffle_down(v, delta)",
    "shift_group_right": "lp.sub_group.shuffle_up(v, delta)",
    "shuffle_xor": "lp.sub_group.shuffle_xor(v, mask)",
    "shuffle_up": "lp.sub_group.shuffle_up(v, delta)",
    "shuffle_down": "lp.sub_group.shuffle_down(v, delta)",
    "ballot_sync": "lp.sub_group.ballot(c)",
    "any_sync": "lp.sub_group.any(c)",
    "all_sync": "lp.sub_group.all(c)",
    **SCALARS,
}
"""What has its counterpart inside of kernels."""

IN_A_LOOP = "add up in a loop, or with lp.group.reduce over a work-group"
_OF_ARRAYS_IN_KERNELS = {
    **dict.fromkeys(("cumsum", "dot", "max", "mean", "min", "prod", "sum"), IN_A_LOOP),
    **dict.fromkeys(("T", "transpose"), "exchange the indices: a[j, i]"),
    **dict.fromkeys(("get", "item"), "index an element: a[i]"),
    **dict.fromkeys(("copy", "flatten", "ravel", "reshape"), "call it on the host, before the launch"),
    "view": "lp.bitcast(a[i], lp.i32) has the bits of an element",
    "fill": "store each element: a[i] = v",
}

_ARRAYS_OF_NUMPY = "arange array eye full_like geomspace identity linspace logspace ones_like tri"
_COMPUTED = """absolute add all any clip concatenate cumsum dot einsum max matmul maximum mean min minimum multiply
    prod sort stack std sum var vstack where"""
_DEVICES = "cpu cuda current_device default_device get_default_device get_device gpu hip metal set_device"

_ON_THE_HOST = {
    **{name: f"lp.asarray(np.{name}(…)), which makes one on a device" for name in _ARRAYS_OF_NUMPY.split()},
    **{name: f"a kernel that computes it, or np.{name} of a.numpy()" for name in _COMPUTED.split()},
    **dict.fromkeys(
        _DEVICES.split(), 'lp.devices(), lp.device("…") or device= where an array or a queue is made'
    ),
    **dict.fromkeys(
        ("rand", "randn", "random"),
        "lp.asarray(np.random.default_rng().random(n, np.float32)); a kernel takes a generator as a helper",
    ),
    **dict.fromkeys(("as_tensor", "from_numpy", "tensor", "to_device"), "lp.asarray(x)"),
    **dict.fromkeys(("asnumpy", "to_cpu", "to_numpy"), "a.numpy()"),
    **dict.fromkeys(
        ("accessor", "buffer", "field", "ndarray", "Tensor"), "lp.zeros(shape, dtype), an lp.Array"
    ),
    **dict.fromkeys(("InOut", "Pointer", "Ptr", "pointer", "pointer_type"), "lp.Array[lp.f32]"),
    **dict.fromkeys(("cupy_jit", "jit", "njit", "parallel", "stencil"), "@lp.kernel"),
    **dict.fromkeys(
        ("ElementwiseKernel", "guvectorize", "vectorize"), "@lp.kernel, launched as kernel[n](…)"
    ),
    **dict.fromkeys(("parallel_for", "prange"), "kernel[n](…): each work-item is one round of the loop"),
    **dict.fromkeys(("ReductionKernel", "reduce"), 'lp.group.reduce(v, "add") in a kernel'),
    **dict.fromkeys(("RawKernel", "RawModule"), "lp.create_kernel_bundle_from_source(ctx, language, source)"),
    **dict.fromkeys(
        ("aligned_alloc_device", "malloc", "malloc_device", "malloc_host", "malloc_shared", "usm"),
        "lp.empty(shape, dtype)",
    ),
    **dict.fromkeys(("host_accessor", "host_vector", "get_array"), "a.numpy(), which waits and copies"),
    **dict.fromkeys(
        ("any_device_has", "any_device_has_v"), "any(d.has(lp.Aspect.FP64) for d in lp.devices())"
    ),
    **dict.fromkeys(
        ("all_devices_have", "all_devices_have_v"), "all(d.has(lp.Aspect.FP64) for d in lp.devices())"
    ),
    **dict.fromkeys(
        (
            "cpu_selector",
            "cpu_selector_v",
            "default_selector",
            "default_selector_v",
            "gpu_selector",
            "gpu_selector_v",
        ),
        "lp.device(), or lp.select_device(aspects=[lp.Aspect.GPU])",
    ),
    **dict.fromkeys(("aspect_selector",), "lp.select_device(aspects=[…])"),
    **dict.fromkeys(
        ("reduction", "reducer"), 'lp.group.reduce(v, "add") in a kernel, then lp.atomic.add(out, 0, sum)'
    ),
    **dict.fromkeys(("get_devices", "list_devices", "num_gpus", "device_count"), "lp.devices()"),
    **dict.fromkeys(("get_platforms", "list_platforms"), "lp.platforms()"),
    **dict.fromkeys(("free", "delete"), "a.release(), or let the last reference go"),
    **dict.fromkeys(("property_list", "prop_list"), "props=[lp.properties.…] where a function takes them"),
    **dict.fromkeys(("no_init", "noinit", "write_only"), "lp.Out[…] as the parameter's annotation"),
    **dict.fromkeys(("read_only",), "lp.In[…] as the parameter's annotation"),
    **dict.fromkeys(
        ("local_accessor",),
        "lp.LocalArray[lp.f32] as the parameter's annotation, lp.local(n) as its argument",
    ),
    **dict.fromkeys(("Buffer", "Accessor", "Field", "malloc_managed"), "lp.zeros(shape, dtype), an lp.Array"),
    **dict.fromkeys(
        ("seed", "manual_seed"), "a seed as the argument of a generator that kernels call as a helper"
    ),
    **dict.fromkeys(("Exception", "LapilliError", "exception", "errors"), "lp.Error, the base of all others"),
    **dict.fromkeys(("CompilationError", "CompilerError"), "lp.CompileError"),
    **dict.fromkeys(
        ("block_until_ready", "device_synchronize", "finish", "sync", "synchronize", "wait"),
        "event.wait() or queue.wait(), or read the array",
    ),
    **dict.fromkeys(("SpecConst", "SpecId", "spec_constant"), "lp.SpecializationId(lp.u32, default)"),
    **dict.fromkeys(("Constexpr", "constexpr", "const"), "lp.Const[lp.i32]"),
    **dict.fromkeys(("VERSION", "version"), "lp.__version__"),
    "copy": "copy.copy(a), or b.copy_from(a)",
    "init": "nothing: devices are opened when they are first used",
    "load": "lp.load_kernel_bundle(ctx, path)",
    "memcpy": "queue.copy(source, target)",
    "memset": "queue.fill(a, value)",
    "print": "print(…) in the kernel",
    "printf": "print(…) in the kernel",
    "profiler": "lp.profile()",
    "queue": "lp.Queue(device)",
    "reshape": "a.reshape(shape)",
    "save": "bundle.save(path)",
    "stream": "lp.Queue()",
    "time": "event.elapsed_ns of a queue made with profiling=True",
}


def hint_on_the_host(name: str, names: Iterable[str]) -> str:
    """Returns what to write instead of ``lapilli.name``, with a semicolon before; "" where nothing is known.

    Args:
        name: what lapilli has not.
        names: what it has.
    """
    instead = _ON_THE_HOST.get(name) or SCALARS.get(name)
    if instead is None:
        bare = _bare(name)
        instead = next((f"lp.{known}" for known in names if _bare(known) == bare), None)
    if instead:
        return f"; write {instead}"
    in_kernels = f"lp.math.{name}(x)" if callable(getattr(math, name, None)) else IN_KERNELS.get(name)
    return f"; in a kernel write {in_kernels}" if in_kernels else ""


def _bare(name: str) -> str:
    """Returns a name without what snake case and camel case differ in."""
    return name.lower().replace("_", "")


def array_member_hint(name: str) -> str:
    """Returns what to write instead of a member of an array that only hosts have."""
    return _OF_ARRAYS_IN_KERNELS.get(name, "there are shape, size, ndim and dtype, and len(a)")
