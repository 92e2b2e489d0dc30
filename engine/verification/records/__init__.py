"""What a recount reads: the records of an output, their classes, and the population."""
