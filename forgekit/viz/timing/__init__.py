"""Draw benchmarks: bars of one size, lines over sizes, rooflines."""
