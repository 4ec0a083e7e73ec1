"""Shared code of the commands: parser and shared options, what a command reads, and what it prints and writes."""
