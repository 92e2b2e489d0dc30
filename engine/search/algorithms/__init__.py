"""Search algorithms, one per file; each names its paper."""
