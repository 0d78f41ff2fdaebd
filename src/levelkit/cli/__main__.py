"""`python -m levelkit.cli`."""

import sys

from levelkit.cli import main

sys.exit(main())
