"""How it is minimized: one loop, steps for blocks, initializations, layer-wise pre-training."""
