"""What a release says of itself to those who use it: a codebook for programs, and a text that explains it."""
