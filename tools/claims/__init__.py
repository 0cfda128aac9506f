"""The claims of the paper, and whether they hold: by regret, tasks won, scores and time, for docs/reproduction.md."""
