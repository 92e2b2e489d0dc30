"""Searches for the policies that no other one beats."""
