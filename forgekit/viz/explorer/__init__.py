"""The layout playground, used in a notebook as `fk.explore` and in the book as a page."""
