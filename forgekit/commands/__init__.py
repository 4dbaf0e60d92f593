"""The command line: one module per command listed by `forgekit --help`."""
