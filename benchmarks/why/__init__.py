"""Why does the default maximizer climb lower and end lower? Climbs from the same starts, and runs, in 60 dimensions."""
