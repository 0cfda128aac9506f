"""Which defaults? Development tasks, that are reported nowhere else, and the grid of what was compared on them."""
