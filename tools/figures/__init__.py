"""The pictures of docs/figures/ that explain ideas, drawn by the library."""
