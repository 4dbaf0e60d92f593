"""`forgekit bench`: suites of sizes for the operators, compared with their peers."""
