"""Withholds figures about too few records, for ledger, pages, metrics, lineage and alerts alike.

`counts` has the rule. `fractions` applies it to quotients, `records` to the counts of an attempt, `ledger_rows` to a
row of the ledger, `classes`, `criteria`, `risks` and `traces` to the figures of a release, `results` to a validation,
and `messages` to sentences.
"""
