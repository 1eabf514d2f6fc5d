"""UDP flows: rates, loss and who lost, order, and what limits them."""
