"""A user's whole program: saxpy, its result, the clock."""

import os
import time

import numpy as np

os.environ["WGPU_BACKEND_TYPE"] = "Vulkan"
import wgpu

SOURCE = """
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) g: vec3u) { y[g.x] = 2.0 * x[g.x] + y[g.x]; }
"""

device = wgpu.gpu.request_adapter_sync(power_preference="high-performance").request_device_sync()
use = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
x = device.create_buffer_with_data(data=np.arange(1024, dtype=np.float32), usage=use)
y = device.create_buffer_with_data(data=np.ones(1024, np.float32), usage=use)
module = device.create_shader_module(code=SOURCE)
pipeline = device.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": "main"})
group = device.create_bind_group(
    layout=pipeline.get_bind_group_layout(0),
    entries=[{"binding": n, "resource": {"buffer": buffer}} for n, buffer in enumerate((x, y))],
)
encoder = device.create_command_encoder()
commands = encoder.begin_compute_pass()
commands.set_pipeline(pipeline)
commands.set_bind_group(0, group)
commands.dispatch_workgroups(16)
commands.end()
device.queue.submit([encoder.finish()])
found = np.frombuffer(device.queue.read_buffer(y), np.float32)
assert np.array_equal(found, 2 * np.arange(1024) + 1)
print(time.monotonic(), flush=True)
