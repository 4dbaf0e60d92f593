"""Views of a kernel's run as data: footprint, warp accesses, timeline."""
