"""The frontier for readers: the chart, the picture and the words for a policy."""
