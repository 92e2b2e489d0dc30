"""What a frontier is compared with: Safe Harbor, k-anonymity, rules; and the short list."""
