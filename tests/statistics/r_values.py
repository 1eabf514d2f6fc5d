"""What R computed (tests/data/statistics/models.R) and the data that it was given."""

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FOLDER = Path(__file__).parent.parent / "data" / "statistics"


def read_columns(name: str) -> dict[str, NDArray[np.float64]]:
    """Columns of a data file by their header."""
    with (FOLDER / name).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {column: np.array([float(row[column]) for row in rows]) for column in rows[0]}


def read_r(case: str) -> dict[str, float]:
    """R's values of one case by name; never empty."""
    with (FOLDER / "models-r.csv").open(newline="", encoding="utf-8") as file:
        found = {row["name"]: float(row["value"]) for row in csv.DictReader(file) if row["case"] == case}
    assert found
    return found
