"""The hook for Keras and TensorFlow, and what only it needs."""
