"""Declares an op, validates the declaration, and lowers a case to launches."""
