"""`python -m forgekit` is the `forgekit` command."""

import sys

from forgekit.cli import main

sys.exit(main())
