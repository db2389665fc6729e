"""The strict reading of model and hardware profiles."""
