"""The layout playground: `fk.explore` in a notebook, and a page in the book."""
