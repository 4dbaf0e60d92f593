"""check(): a result beside its reference, with where, by how much and the likely reason."""
