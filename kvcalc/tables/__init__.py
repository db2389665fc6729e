"""Results as neutral tables, where numbers get their units."""
