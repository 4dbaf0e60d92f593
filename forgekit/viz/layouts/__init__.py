"""Pictures of layouts: offsets, swizzles, thread-value layouts, copies and MMAs.

`reading` turns layouts into tables, `plain`, `swizzle`, `tv` and `mma` tables into grids (`grid`)
on a card (`compose`), a `scene` of rectangles and text, which `svg` and `raster` write as files.
`palette` has all colours.
"""
