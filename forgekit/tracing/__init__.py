"""Record views of a kernel's run as data: footprints, warp accesses and timelines."""
