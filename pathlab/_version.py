"""The version of the program; setup.py reads it as text."""

VERSION = "0.1.0"
