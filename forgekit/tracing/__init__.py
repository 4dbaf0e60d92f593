"""What one run of a kernel touched, as data: footprint, accesses of warps, timeline."""
