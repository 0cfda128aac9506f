"""One static HTML page about a run."""
