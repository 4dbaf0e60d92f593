"""`python -m forgekit` is the `forgekit` command."""

import sys

from forgekit.commands.cli import main

sys.exit(main())
