"""`forgekit tune`: configurations for the GPU at hand."""
