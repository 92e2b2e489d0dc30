"""Great Expectations on a release: one file per expectation; `suite` builds them from a job, `run` runs them.

Importing one of the modules imports Great Expectations (seconds, hundreds of megabytes): do so only inside a task.
"""
