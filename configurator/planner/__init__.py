"""What fits and what it costs in time: pure arithmetic on facts, without torch, each figure with its basis."""
