"""The values of tensors: read in bulk, summarized, exported and compared."""
