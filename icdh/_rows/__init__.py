"""Private room: rows that depend on one another. What tells that they do, and what they are worth then."""
