"""A made-up clinical warehouse, so that everything can be tried without a single real record."""
