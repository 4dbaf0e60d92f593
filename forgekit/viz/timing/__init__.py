"""Draw benchmarks: bars for one size, lines over sizes, and rooflines."""
