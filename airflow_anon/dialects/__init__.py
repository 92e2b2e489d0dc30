"""Databases in which a job runs: what each writes and does in another way (`dialect`), one file for each.

In: the name of a dialect of SQLAlchemy. Out: its value (`registry`), by which the statements of `warehouse` compile and
a table of `share` is switched.
"""
