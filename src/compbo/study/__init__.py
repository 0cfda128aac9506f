"""The paper's experimental study, rerunnable and resumable."""
