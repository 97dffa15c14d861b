"""The estimators: scikit-learn's contract around a fitted `icdh._model.structural.StructuralModel`."""
