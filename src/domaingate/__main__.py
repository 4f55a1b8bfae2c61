"""`python -m domaingate` is the command `domaingate`."""

from domaingate.cli import main

main()
