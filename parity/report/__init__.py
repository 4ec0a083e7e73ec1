"""Renders the results of a run for people and programs. ``model`` holds the data; other modules render it."""
