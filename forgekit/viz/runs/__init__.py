"""Draw a kernel's run: the elements, sectors and banks that it touched, and its order of
execution."""
