"""Profiles and options in, one frozen result out."""
