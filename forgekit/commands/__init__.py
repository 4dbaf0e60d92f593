"""The command line: one module per command of `forgekit --help`."""
