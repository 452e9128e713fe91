"""The benchmark harness: kernel time and launch latency, as ratios measured in one run."""
