"""What a release must hold beside its privacy models: labels, balance, figures of the report."""
