"""Releases of several nights: traces of persons, who is held back or withheld, and the vault that remembers."""
