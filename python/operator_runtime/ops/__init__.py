"""One module per operator: `op` allocates its result, `op_` writes into given outputs, `prepare_op` checks once."""
