"""What is known of the errors of the coder that read the answers."""
