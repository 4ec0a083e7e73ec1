"""Calls the compilers of both vendors and describes the targets they build for."""
