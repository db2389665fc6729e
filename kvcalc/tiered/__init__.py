"""The tiered block manager: which block lies in which tier, who refers to it, and what is under way."""
