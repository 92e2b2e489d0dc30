"""What each page shows, as plain JSON: one form per page; `parts` has what several pages have."""
