"""The space of policies: domains, their groups, and the ways through it."""
