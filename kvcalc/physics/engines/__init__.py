"""What serving engines make of a model's bytes: blocks, padding, separate pools, copies in a store."""
