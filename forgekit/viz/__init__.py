"""Pictures of what kernels do; each is a matplotlib Figure, drawn without pyplot's global state."""

from forgekit.viz.footprint import Footprint, footprint
from forgekit.viz.mismatch import mismatch_map

__all__ = ["Footprint", "footprint", "mismatch_map"]
