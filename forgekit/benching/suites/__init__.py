"""`forgekit bench`: measure the operators and their peers over suites of sizes."""
