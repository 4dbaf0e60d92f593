"""Measuring: of the virtual GPU itself (`forgekit bench vgpu`)."""
