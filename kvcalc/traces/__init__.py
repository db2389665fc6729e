"""Request traces: one reader a format, and the columns that all of them become."""
