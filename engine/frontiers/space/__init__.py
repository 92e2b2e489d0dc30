"""The space of policies: domains, their groups, and paths."""
