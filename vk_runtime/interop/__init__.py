"""Interoperability with Vulkan: objects of lapilli as native handles, and native handles as objects of lapilli."""
