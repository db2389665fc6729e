"""Pure functions: bytes, time to compute, time to fetch, and where they meet."""
