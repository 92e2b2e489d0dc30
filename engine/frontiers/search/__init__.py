"""Searches for the policies that no other policy dominates."""
