"""Handle the memory accesses of threads: targets and faults.

addressing.py       maps an access's addresses to places in memory; checks bounds and alignment
clusters.py         shared memory of the other blocks of a cluster
copies.py           asynchronous copies: their sources and targets
faults.py           the messages for faulty accesses
"""
