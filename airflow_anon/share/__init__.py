"""The research share: release folders, database tables, and copying a staged release into them."""
