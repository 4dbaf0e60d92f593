"""Make `python -m forgekit` run the `forgekit` command."""

import sys

from forgekit.commands.cli import main

sys.exit(main())
