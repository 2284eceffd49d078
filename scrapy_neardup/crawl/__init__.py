"""Private parts of the middleware and the pipelines."""
