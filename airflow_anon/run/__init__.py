"""What the tasks of one run share: facts, release id, staging, refusal, progress, output."""
