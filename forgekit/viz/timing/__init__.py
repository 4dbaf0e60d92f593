"""Pictures of benchmarks: bars of one size, lines over sizes, rooflines."""
