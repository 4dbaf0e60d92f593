"""Implement `compile()`: argument specs, the cache key, the memory and disk caches, and the
backends for the GPU and the virtual GPU."""
