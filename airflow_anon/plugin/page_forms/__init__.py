"""The JSON form of each page, one file per page; `parts` has what several pages share."""
