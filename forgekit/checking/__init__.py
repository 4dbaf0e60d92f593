"""check(): compare a result with its reference and report the place, size and likely cause of
errors."""
