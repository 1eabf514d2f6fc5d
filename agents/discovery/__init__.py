"""Path discovery on a host: what is sent, how replies are stamped and matched, and its program."""
