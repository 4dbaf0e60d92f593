"""Explain CuTe DSL's errors to students, and quote the lines of their code that cause them."""
