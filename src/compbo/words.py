"""Small words: numbers with their nouns."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """`1 evaluation`, `2 evaluations`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
