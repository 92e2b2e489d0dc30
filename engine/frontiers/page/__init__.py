"""Shows a frontier: the interactive page, the static picture, and policies in words."""
