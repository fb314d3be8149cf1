"""The numerical section of the paper: every table and figure as data, one runner, a verdict per printed number."""
