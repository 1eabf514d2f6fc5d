"""What results say: trials chosen by their flags, and every analysis per path and condition."""
