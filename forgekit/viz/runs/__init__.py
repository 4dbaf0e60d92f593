"""Draw a kernel's run: the elements, sectors and banks that the kernel accessed, and the order of
execution.
"""
