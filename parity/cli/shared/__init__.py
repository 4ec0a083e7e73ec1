"""Shared code of the commands: parser, what a command reads, and what it prints and writes."""
