"""The GPU architectures the virtual GPU stands in for."""

ARCHITECTURES = ("sm_80", "sm_90a", "sm_100a")
DEFAULT_ARCH = "sm_90a"
