"""What may be told of few records: the one place that decides it, for ledger, pages, metrics, lineage and alerts.

`counts` has the rule. `shares` applies it to quotients, `records` to the counts of an attempt, `ledger_rows` to a row
of the ledger, `classes`, `criteria` and `risks` to what a release was judged by, `results` to a validation, and
`messages` to sentences.
"""
