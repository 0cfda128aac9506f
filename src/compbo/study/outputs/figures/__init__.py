"""Figures: functions of the study that return drawings."""
