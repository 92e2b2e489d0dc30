"""The job file: what is read, what each column is, what must hold; and what a search of it is given."""
