"""The estimators: scikit-learn's contract around a fitted `icdh.StructuralModel`."""
