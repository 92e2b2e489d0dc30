"""The research share: release folders, tables of a database, and the staged release that goes into them."""
