"""The Vulkan runtime: loader, devices, memory, queues, pipelines."""
