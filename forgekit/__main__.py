"""Run the `forgekit` command with `python -m forgekit`."""

import sys

from forgekit.commands.cli import main

sys.exit(main())
