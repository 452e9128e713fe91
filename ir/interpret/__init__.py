"""The reference interpreter of kernel-level IR; see `launch`."""
