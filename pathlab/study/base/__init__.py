"""Trials, conditions, cells, answers: what every topic of a study rests on."""
