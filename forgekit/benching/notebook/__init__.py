"""fk.bench and fk.sweep: variants of a kernel side by side, in a notebook."""
