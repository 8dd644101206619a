"""Classes under the module paths that tests and rule containers for Debugger import."""
