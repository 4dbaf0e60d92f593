"""NVIDIA's own tools, ncu, nsys and compute-sanitizer: found, called, their reports as tables."""
