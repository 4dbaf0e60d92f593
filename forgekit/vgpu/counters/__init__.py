"""The counts of a hardware profiler: a listener, and its counting rules.

counting.py         the listener: instructions, requests, sectors, wavefronts of a launch
rules.py            sectors and wavefronts of one warp's access
costs.py, warps.py  the same for all warps of an access: equal warps are counted once
touched.py          which bytes of device memory were read and written
"""
