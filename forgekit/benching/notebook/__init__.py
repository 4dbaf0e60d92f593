"""fk.bench and fk.sweep: measure variants of a kernel side by side in a notebook."""
