"""`python -m engine`: the command line."""

from __future__ import annotations

import sys

from engine.cli.commands import main

sys.exit(main())
