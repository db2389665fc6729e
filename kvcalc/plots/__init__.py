"""Results as figures, for half a page of a document."""
