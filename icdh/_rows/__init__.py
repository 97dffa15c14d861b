"""Private room: tests for dependent rows, and their effective sample size."""
