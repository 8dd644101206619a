"""Where finished steps go: files of the trial, spill file, flight recorder, TensorBoard, metrics and checkpoints."""
