"""The language of op declarations: expressions, shapes and kernel arguments."""
