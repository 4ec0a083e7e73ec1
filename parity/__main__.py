"""``python -m parity``."""

import sys

from parity.cli import main

if __name__ == "__main__":
    sys.exit(main())
