"""Ask and tell through files: what a laboratory does without Python, one command at a time."""
