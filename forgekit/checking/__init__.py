"""check(): compare a result with its reference and report place, size and likely cause of
errors."""
