"""What to write for attributes that arrays of NumPy, CuPy, Numba, Taichi or torch, queues and events of SYCL have."""

from __future__ import annotations

_ON_THE_HOST = "get to_numpy to_host cpu copy_to_host asnumpy tolist item tobytes"
_FROM_THE_HOST = "from_numpy set copy_to_device copy_from_host upload write"
_COPIES = "copy clone detach"
_OF_NUMPY = """T all any argmax argmin argsort astype clip conj ctypes cumprod cumsum data diagonal dot flags flat imag
    max mean min nonzero prod real repeat resize round sort squeeze std strides sum swapaxes take trace
    transpose var view"""

_OF_ARRAYS = {
    **dict.fromkeys(
        ("get_access", "get_host_access"), "pass the array; a.numpy() reads it, a.copy_from(x) writes"
    ),
    **dict.fromkeys(("get_range", "extent"), "a.shape has its extents"),
    **dict.fromkeys(("get_count", "count", "length"), "a.size is the number of elements"),
    **dict.fromkeys(("byte_size", "get_size"), "a.nbytes is its size in bytes"),
    **dict.fromkeys(("ptr", "data_ptr", "device_ptr"), "lp.vulkan.get_native(a) gives its VkBuffer"),
    "to_device": "lp.asarray(a, device=…) copies it to another device",
    "fill_": "a.fill(v) sets every element",
    "flatten": "a.ravel() is a view in one dimension, copy.copy(a).ravel() a copy",
    "queue": "a.device.default_queue is the queue of launches without .on",
    **dict.fromkeys(_FROM_THE_HOST.split(), "a.copy_from(x) copies a NumPy array into it"),
    "to": "lp.asarray(a, device=…) copies it to another device",
    **dict.fromkeys(_ON_THE_HOST.split(), "a.numpy() copies the elements to host memory"),
    **dict.fromkeys(_COPIES.split(), "copy.copy(a) makes another array on the same device"),
    **dict.fromkeys(_OF_NUMPY.split(), "an lp.Array is memory for kernels; a.numpy() gives a NumPy array"),
}


_WAITS = "synchronize sync finish"
_OF_QUEUES = {
    **dict.fromkeys(_WAITS.split(), "queue.wait() waits for all that was submitted"),
    **dict.fromkeys(
        ("memcpy", "copy_from", "copy_to"), "queue.copy(source, target) copies arrays and NumPy arrays"
    ),
    **dict.fromkeys(("memset", "zero"), "queue.fill(a, value) sets every element"),
    **dict.fromkeys(
        ("launch", "enqueue", "run"),
        "queue.parallel_for(n, kernel, …) launches, as kernel[n].on(queue)(…) does",
    ),
    **dict.fromkeys(
        ("ext_oneapi_submit_barrier", "ext_oneapi_empty"),
        "queue.marker() gives an event of all that was submitted",
    ),
    **dict.fromkeys(
        ("prefetch", "mem_advise", "update_host"),
        "arrays are where they are used: leave it out; a.numpy() reads",
    ),
    **dict.fromkeys(("in_order", "has_property"), "queue.is_in_order says it"),
    "record_event": "queue.marker() gives an event of all that was submitted",
}
_OF_EVENTS = {
    **dict.fromkeys(_WAITS.split(), "event.wait() waits for it"),
    "wait_and_throw": "event.wait() waits for it and raises what failed",
    "status": "event.done says whether it has happened, event.info.command_execution_status what SYCL calls it",
    **dict.fromkeys(("query", "is_done", "ready", "is_complete"), "event.done says whether it has happened"),
    **dict.fromkeys(
        ("elapsed_time", "elapsed", "duration"),
        "event.elapsed_ns is its time on the device, where the queue is lp.Queue(profiling=True)",
    ),
    **dict.fromkeys(
        ("result", "numpy", *_ON_THE_HOST.split()),
        "results are in the arrays that the kernel writes; a.numpy() waits and reads",
    ),
}
HINTS = {"Array": _OF_ARRAYS, "Event": _OF_EVENTS, "Queue": _OF_QUEUES}


def missing_attribute(name: str, instance: object) -> AttributeError:
    """Returns the error for an attribute that is not there, with what to write instead where that is known."""
    kind = type(instance).__name__
    hint = _of_device(name) if kind == "Device" else HINTS.get(kind, {}).get(name)
    message = f"{kind!r} object has no attribute {name!r}"
    return AttributeError(message if hint is None else f"{message}; {hint}", name=name, obj=instance)


def _of_device(name: str) -> str | None:
    from .device_info import DeviceInfo

    return f"device.info.{name} is what the driver says" if hasattr(DeviceInfo, name) else None
