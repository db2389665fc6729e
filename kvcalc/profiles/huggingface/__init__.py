"""Model profiles from the configuration files of Hugging Face: config.json in, a profile's document out."""
