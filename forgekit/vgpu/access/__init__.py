"""Find the memory that threads access, and report faulty accesses.

addressing.py       the elements of memory at an access's addresses; bounds and alignment
clusters.py         shared memory of the blocks of a cluster
copies.py           sources and targets of asynchronous copies
faults.py           messages for faulty accesses
"""
