"""What draws which type: name of the type -> form -> `module:function`, all within forgekit.

`forgekit/show.py` looks here; to add a picture of a result, write its function and a line here.
"""

from __future__ import annotations

DRAWERS: dict[str, dict[str, str]] = {}
