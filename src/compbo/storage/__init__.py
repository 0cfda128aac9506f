"""Runs in an Optuna storage: every evaluation committed, resumable, refused to a second process."""

from compbo.storage.stored_run import StoredRun, copy_run, load_optimizer, load_records, load_run

__all__ = ["StoredRun", "copy_run", "load_optimizer", "load_records", "load_run"]
