"""Pictures of layouts: `reading` makes tables of them, `offsets`, `swizzle`, `tv` and `tiled` draw
these as grids on a card; `cute_viz` has cute-viz's names for that.
"""
