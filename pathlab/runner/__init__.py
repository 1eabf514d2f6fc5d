"""Running trials and whole campaigns."""
