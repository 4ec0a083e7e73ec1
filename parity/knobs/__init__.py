"""Why a case fails or differs: its kernel built again with one knob of the compiler turned at a time."""

from parity.knobs.changes import Change, changes
from parity.knobs.knob import KNOBS
from parity.knobs.run import Answer, Effect, State, state_of, turn_each
from parity.knobs.turning import Turn

__all__ = ["KNOBS", "Answer", "Change", "Effect", "State", "Turn", "changes", "state_of", "turn_each"]
