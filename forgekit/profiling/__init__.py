"""Profiles by Python source line: what a kernel's instructions and memory accesses cost."""
