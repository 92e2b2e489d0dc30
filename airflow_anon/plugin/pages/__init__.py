"""Builds the document of each page as plain JSON; the page and its JSON twin both render it."""
