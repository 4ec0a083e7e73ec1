"""Files, serialization, the artifact cache, signals and processes: what parity needs from the operating system."""
