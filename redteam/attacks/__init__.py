"""One file per attack: each gives its outcomes on the releases that it makes."""
