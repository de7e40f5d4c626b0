"""The config of a run: schema, composition, shipped files and checks of users' YAML."""
