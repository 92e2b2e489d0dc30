"""Boxes of the lattice in which classes fail by their size alone: rows packed into words, tightened in one call.

A class of the highest levels is a run of rows, so everything is counted class by class, in a table with one cell per
label that fits into the fastest cache: there is no hash table of classes, and no table that grows with the rows. The
label codes of a row are packed into one or two words; rows are moved and compared as words. Costs are whole numbers, so
sums are exact in any order. A class in which every row has enough records cannot fail in the box: it is left out, as
are the classes that always fail.
"""
