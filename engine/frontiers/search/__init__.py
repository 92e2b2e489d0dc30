"""Search algorithms for policies that no other policy dominates."""
