"""Tables: functions of the study that return a table, written as CSV, Markdown and LaTeX."""
