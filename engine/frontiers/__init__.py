"""Risk-utility frontiers of de-identification policies (Xia et al., JAMIA 22:1029, 2015)."""
