"""Draw a kernel's run: the elements, sectors and banks that the kernel touched, and the order of
execution."""
