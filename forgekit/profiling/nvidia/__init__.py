"""Find and run NVIDIA's tools (ncu, nsys, compute-sanitizer), and tabulate their reports."""
