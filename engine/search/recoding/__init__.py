"""Local recoding: records with equal values may stand under labels of different levels."""
