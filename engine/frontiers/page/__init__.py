"""The frontier as people see it: the chart, the picture and the words for a policy."""
