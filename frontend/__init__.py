"""Python source to kernel-level IR."""
