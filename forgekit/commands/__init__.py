"""Define the command line; each command that `forgekit --help` lists has its own module."""
