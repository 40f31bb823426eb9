"""`python -m genmcp` is the `genmcp` command."""

import sys

from genmcp.cli import main

sys.exit(main())
