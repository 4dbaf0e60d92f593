"""Profile a kernel: count its instructions and memory accesses for each Python source line."""
