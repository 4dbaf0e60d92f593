"""Find and run NVIDIA's tools (ncu, nsys, compute-sanitizer), and convert their reports to
tables."""
