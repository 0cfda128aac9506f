"""The results: a folder of rows, the table they make, and its scores."""
