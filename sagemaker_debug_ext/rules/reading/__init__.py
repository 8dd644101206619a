"""What rules see of a trial: the tensors of a step, selections of them, their roles, and series over steps."""
