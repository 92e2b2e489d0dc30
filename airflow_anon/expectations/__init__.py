"""Great Expectations on a release: one file per expectation; `suite` builds them from a job, `run` runs them.

Most modules import Great Expectations (seconds, hundreds of megabytes): import them only inside a task.
"""
