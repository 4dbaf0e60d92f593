"""What a profiler of hardware counts: a listener, and the rules it counts by.

counting.py         the listener: instructions, requests, sectors, wavefronts of a launch
rules.py            sectors and wavefronts of one warp's access
costs.py, warps.py  the same for all warps of an access: alike warps are counted once
touched.py          which bytes of device memory were read and written
"""
