"""check(): compare a result with its reference and report the position, size and likely cause of
errors.
"""
