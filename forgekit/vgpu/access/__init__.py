"""Accesses of threads to memory: where they go, and which of them are mistakes.

addressing.py       addresses of an access -> places in memory, inside and aligned
clusters.py         shared memory of the other blocks of a cluster
copies.py           asynchronous copies: where they begin and end
faults.py           what a student reads about a wrong access
"""
