"""The version of the project, which each report names."""

VERSION = "0.1.0"
