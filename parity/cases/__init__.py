"""Creates cases: parses their text, lists the built-in ones, draws others and varies them."""
