"""Tables and results as text, markdown, CSV and JSON."""
