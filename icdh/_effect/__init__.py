"""The effect of one variable on another, from a table and covariates, or by a fitted graph."""
