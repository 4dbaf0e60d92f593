"""The layout playground: in a notebook as `fk.explore`, and as a page of the book."""
