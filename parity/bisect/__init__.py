"""Why a case fails or differs: its kernel built again with one knob of the compiler turned at a time."""

from parity.bisect.changed_lines import Change, changes
from parity.bisect.compiler_options import KNOBS
from parity.bisect.rebuild import Turn
from parity.bisect.search import BisectResult, Effect, State, state_of, turn_each

__all__ = ["KNOBS", "BisectResult", "Change", "Effect", "State", "Turn", "changes", "state_of", "turn_each"]
