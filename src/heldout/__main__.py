"""`python -m heldout`."""

import sys

from heldout.cli import main

sys.exit(main())
