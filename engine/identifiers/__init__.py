"""What looks like an identifier: the kinds of HIPAA 164.514(b)(2), by the name of a column or by its values."""
