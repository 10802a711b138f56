"""Pages to explore two graphs in: what each test sees, and where it stops."""
