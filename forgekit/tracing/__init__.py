"""Views of one run of a kernel, as data: footprint, accesses of warps, timeline."""
