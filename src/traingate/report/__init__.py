"""What the gate says, in the form its reader wants: a terminal, GitHub, a program, a page."""
