"""Measuring: operators and variants of a kernel, on a GPU or counted; the virtual GPU itself."""
