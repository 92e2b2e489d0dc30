"""What stands beside a frontier: Safe Harbor, k-anonymity, rules, the short list."""
