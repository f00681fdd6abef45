"""HOW it is minimized: one loop, steps for blocks, starts, layer-wise pre-training."""
