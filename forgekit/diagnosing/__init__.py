"""What the compiler and the DSL object to, told in the student's terms with the student's line."""
