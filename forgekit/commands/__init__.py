"""The command line has one module per command of `forgekit --help`."""
