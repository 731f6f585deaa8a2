"""The doctor: looks at the repository and the live world, and says what to mend and how.

It only reads. A probe that has no credentials says so and is skipped: a green line always means
that somebody looked.
"""
