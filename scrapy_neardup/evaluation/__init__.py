"""Run recorded documents through the detector, and measure its verdicts."""
