"""Search algorithms, one per file, each after its paper."""
