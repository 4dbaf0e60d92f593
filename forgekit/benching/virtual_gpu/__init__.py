"""`forgekit bench vgpu`: how fast the virtual GPU itself is."""
