"""What a trace does to a cache."""
