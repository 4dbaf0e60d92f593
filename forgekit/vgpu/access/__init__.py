"""Handle threads' memory accesses: their targets, and mistakes.

addressing.py       addresses of an access -> places in memory, inside and aligned
clusters.py         shared memory of the other blocks of a cluster
copies.py           asynchronous copies: their sources and targets
faults.py           the messages about wrong accesses
"""
