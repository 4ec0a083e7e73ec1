"""Rebuilt bugs of public ports to AMD, which parity finds without a reference before their fix but not after it."""
