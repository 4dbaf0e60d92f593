"""compile(): specs, cache key, memory and disk cache, GPU or virtual GPU."""
