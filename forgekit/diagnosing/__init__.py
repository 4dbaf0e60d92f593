"""What the compiler and the DSL object to, in the student's terms with the student's line."""
