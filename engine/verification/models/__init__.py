"""Recounts of the privacy models, one per file; none imports another, nor the engine's own."""
