"""Profile a kernel by Python source line: the cost of its instructions and memory accesses."""
