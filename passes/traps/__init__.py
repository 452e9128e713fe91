"""What debug mode adds to kernels so that mistakes of work-items that work together end in `KernelTrap`."""
