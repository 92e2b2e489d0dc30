"""What a release is still good for, measured where source and release are both at hand (docs/usefulness.md)."""
