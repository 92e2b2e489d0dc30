"""Page documents: what a page shows, as plain JSON. The page and its JSON are two renderings of one document."""
