"""Runs as data, and the functions that execute, record, measure, merge and explain them.

Commands, the pytest plugin and notebooks use this package. It does not print and does not parse options.
"""
