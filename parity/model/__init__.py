"""The core data types: dtypes, layouts, cases, launches, code objects, coverage and known divergences."""
