"""A rehearsal: the job's own command on this machine, small and on throw-away stores."""
