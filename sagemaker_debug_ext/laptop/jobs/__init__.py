"""The jobs of the server, kind by kind, and the operations on them."""
