"""Bugs of public ports to AMD, written again: found before their fix without a reference, and not after it."""
