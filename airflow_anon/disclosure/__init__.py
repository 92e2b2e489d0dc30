"""What may be told of few records: the one place that decides it."""
