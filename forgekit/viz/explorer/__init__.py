"""Open the layout playground: with `fk.explore` in a notebook, or as a page of the book."""
