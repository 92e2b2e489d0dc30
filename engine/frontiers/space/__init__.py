"""The policy space: domains, their groups, and paths."""
