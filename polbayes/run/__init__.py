"""The pipeline: plan, stages, manifest."""
