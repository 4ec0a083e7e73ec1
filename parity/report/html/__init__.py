"""Writes the report for browsers: one HTML file with compressed data, which needs neither a network nor a server."""
