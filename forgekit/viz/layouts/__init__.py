"""Pictures of layouts: `reading` converts them to tables, and `offsets`, `swizzle`, `tv` and
`tiled` draw these as grids on a card; `cute_viz` offers them under cute-viz's names."""
