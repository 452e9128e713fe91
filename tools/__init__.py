"""The lapilli command line and the table generators."""
