"""What the tasks of a run share: facts, release id, staging, refusal, progress, output."""
