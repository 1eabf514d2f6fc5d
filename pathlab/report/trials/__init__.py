"""Single trials: the answer, remarks, figures of their series."""
