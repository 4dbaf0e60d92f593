"""`forgekit bench`: suites of sizes for the operators, beside their peers."""
