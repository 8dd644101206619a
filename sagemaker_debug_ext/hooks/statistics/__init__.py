"""Reductions, statistics and histograms of arrays. These modules import no framework."""
