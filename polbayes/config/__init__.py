"""What a run is: schema, composition of configs, shipped files and checks of users' YAML."""
