"""`forgekit bench`: measure the operators at suites of sizes, next to their peers."""
