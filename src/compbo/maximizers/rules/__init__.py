"""Update rules: what history does to a gradient."""
