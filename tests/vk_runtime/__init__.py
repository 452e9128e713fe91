"""Tests of the runtime alone; `kernels` holds SPIR-V written by hand."""
