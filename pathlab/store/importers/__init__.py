"""Files of other programs, read with suspicion: whole trials or one clear line."""
