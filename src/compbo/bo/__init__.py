"""From a history to a suggestion: everything that decides which points are evaluated next."""
