"""Asking in several places at once: shards of the questions as tasks of an engine.

`driver` divides every respondent's questions into shards, has an engine (`ray_engine`,
`submitit_engine`) run `shard.ask_shard` on each, and merges the resulting journals. An answer
depends on its cell alone, so it does not matter which worker asks for it.
"""
