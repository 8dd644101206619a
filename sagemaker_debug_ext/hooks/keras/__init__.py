"""The hook for Keras and TensorFlow, and its helpers."""
