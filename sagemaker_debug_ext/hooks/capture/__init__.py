"""One step, from its first tensor to its end: what is due, what has been captured, what is pending."""
