"""Great Expectations on a release: one file an expectation, `suite` builds them from a job, `run` runs them.

Importing one of the modules imports Great Expectations (seconds, hundreds of megabytes): only inside a task.
"""
