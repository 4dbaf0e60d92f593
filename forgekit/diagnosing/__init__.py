"""Explain errors of the compiler and the DSL in the student's terms, with the student's line."""
