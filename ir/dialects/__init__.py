"""The dialects of lapilli."""
