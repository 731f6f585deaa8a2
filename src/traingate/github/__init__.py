"""GitHub as this project needs it: a small client, reviews, threads and untrusted text."""
