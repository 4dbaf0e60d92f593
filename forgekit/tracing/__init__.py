"""Provide views of a kernel's run as data: footprint, accesses of warps, timeline."""
