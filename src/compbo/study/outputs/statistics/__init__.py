"""Statistics as small functions of values and the tasks they belong to."""
