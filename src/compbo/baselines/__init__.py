"""Methods to compare with: Thompson sampling, BOHB's model and random search."""
