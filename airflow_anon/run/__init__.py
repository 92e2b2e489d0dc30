"""What the tasks of one run know and share: facts, release id, staging, refusal, progress."""
