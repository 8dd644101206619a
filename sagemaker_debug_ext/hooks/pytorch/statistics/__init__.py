"""Reductions and histograms of PyTorch tensors, on the CPU and on the GPU."""
