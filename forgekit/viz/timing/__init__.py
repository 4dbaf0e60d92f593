"""Draw benchmarks: bars for a single size, lines across sizes, and rooflines."""
