"""From the results table to tables, figures, a page and a small file: every output is a function of the table alone."""
