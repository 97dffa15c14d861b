"""The one table: how it comes in, its columns, its gaps, and what was set in it."""
