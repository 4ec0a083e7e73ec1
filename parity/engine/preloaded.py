"""Imports what worker processes need. The fork server imports this module first, so that they inherit the result."""

import parity.engine.execution
import parity.engine.outcomes
import parity.engine.worker
import parity.runners.emulated  # noqa: F401
from parity.suite.sample_cache import drawing_code

drawing_code()
