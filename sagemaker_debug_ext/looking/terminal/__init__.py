"""Trials in a terminal: screens of text, plain lines for pipes, and an application that follows."""
