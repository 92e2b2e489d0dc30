"""Tables with other records or values than their source: drawn, left out, coded, shifted, perturbed, replaced."""
