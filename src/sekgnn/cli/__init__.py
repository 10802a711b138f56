"""The ``sekgnn`` command: one file per subcommand."""
