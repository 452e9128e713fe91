"""What each package does in the cases.  A module here is imported by that package's Python, where lapilli is not."""
