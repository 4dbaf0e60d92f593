"""Draw layouts. `reading` converts layouts to tables; `offsets`, `swizzle`, `tv` and `tiled` draw
these tables as grids on a card; `cute_viz` provides the same pictures under cute-viz's names.
"""
