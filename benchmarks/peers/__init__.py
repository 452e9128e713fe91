"""lapilli beside other Python packages for Vulkan, each in its own process and environment: see ../README.md."""
