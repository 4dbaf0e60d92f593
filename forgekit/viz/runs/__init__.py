"""Pictures of what a kernel did: who touched what, which sectors and banks, in what order."""
