"""Asking in several places at once: shards of the questions as tasks of an engine.

`driver` divides every respondent's questions into shards, has an engine (`ray_engine`,
`submitit_engine`) run `shard.ask_shard` for each, and merges the journals that they leave.
An answer depends on its cell alone, so that it does not matter who asks what.
"""
