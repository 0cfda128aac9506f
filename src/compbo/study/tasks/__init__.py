"""Black boxes of the study."""
