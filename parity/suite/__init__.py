"""Finds and loads a suite: its settings, its ops, and the cases that earlier runs found."""
