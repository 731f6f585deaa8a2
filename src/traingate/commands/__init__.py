"""One module a command: arguments in, one of the five steps, a report out."""
