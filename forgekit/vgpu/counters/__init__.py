"""Parts of the counting listener: warps' addresses, the memory's rules, bytes touched."""
