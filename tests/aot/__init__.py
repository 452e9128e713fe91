"""Ahead-of-time compilation: bundle files, file tables, native images, and the commands that make and show them."""
