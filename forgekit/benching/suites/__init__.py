"""`forgekit bench`: measure the operators over suites of sizes, alongside their peers."""
