"""A local recoding of a frequency table: cells in place of levels, and the people behind them."""
