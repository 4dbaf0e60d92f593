"""Count the events of launches as a hardware profiler does.

counting.py         the listener: instructions, requests, sectors, wavefronts of a launch
rules.py            sectors and wavefronts of one warp's access
costs.py, warps.py  the costs of all warps of an access, computed once for equal warps
touched.py          the bytes of device memory that were read and written
"""
