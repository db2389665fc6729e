"""What a running engine says of itself: its start-up log and its metrics, read into one Observation."""
