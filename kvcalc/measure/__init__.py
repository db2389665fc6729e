"""Real copies, real disks, real prefill: what this machine does, in place of what a profile guesses."""
