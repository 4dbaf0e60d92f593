"""compile(): argument specs, the cache key, the memory and disk caches, the GPU and virtual GPU
backends."""
