"""The command line: forgekit lab, doctor, run, bench, build-notebooks."""
