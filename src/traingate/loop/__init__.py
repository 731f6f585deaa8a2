"""The pull-request loop: gate, admission at the merge, submission, report."""
