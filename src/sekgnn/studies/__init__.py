"""Claims of the paper put to the test: simulations that leave a record behind."""
