"""Methods to compare with: Thompson sampling and BOHB's model."""
