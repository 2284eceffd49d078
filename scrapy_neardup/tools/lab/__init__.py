"""Run recorded documents through the detector, and measure its verdicts. No crawl imports this folder."""
