"""Draw layouts: `reading` converts layouts to tables, and `offsets`, `swizzle`, `tv` and `tiled`
draw the tables as grids on a card; `cute_viz` offers the same pictures under cute-viz's names."""
