"""Pictures of layouts: offsets, swizzles, thread-value layouts, copies and MMAs.

`reading` turns layouts into tables; `plain`, `offsets`, `swizzle`, `tv`, `mma` and `tiled` draw
them as grids (`grid`) on a card (`compose`): a `scene` of rectangles and text, which `svg` and
`raster` write as files. `cute_viz` has cute-viz's names for them, `viz.palette` all colours.
"""
