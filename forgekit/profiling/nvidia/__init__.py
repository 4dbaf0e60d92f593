"""NVIDIA's own tools (ncu, nsys, compute-sanitizer): find them, run them, and turn their reports
into tables."""
