"""Runs in an Optuna storage: every evaluation committed, resumable, refused to a second process."""

from compbo.storage.load import copy_run, load_optimizer, load_records, load_run, load_study, signature_of
from compbo.storage.stored_run import StoredRun

__all__ = ["StoredRun", "copy_run", "load_optimizer", "load_records", "load_run", "load_study", "signature_of"]
