"""Draw a kernel's run: touched elements, sectors and banks, and their order."""
