"""Numbers instead of tensors: reductions, summaries and histograms. No framework is imported here."""
