"""Creates cases: parses case texts, lists built-in cases, draws cases and their neighbours."""
