"""compile(): argument specs, the cache key, the memory and disk cache, the GPU or the virtual
GPU."""
