"""From results to sentences, tables and figures; nothing here trains."""
