"""Recounts of the privacy models, one per file; none imports another or the model itself."""
