"""Records of training programs: one module per framework turns its models, losses and optimizers into a record."""
