"""Profiles by Python source line: the cost of a kernel's instructions and memory accesses."""
