"""Pages to explore two graphs: what each test sees, and where it stops."""
