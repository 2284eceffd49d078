"""Replay an archive on a cluster: more documents than one machine can hold."""
