"""NVIDIA's own tools (ncu, nsys, compute-sanitizer): find them, run them, turn reports into
tables."""
