#!/bin/bash
# host_cuts_long.sh SOURCE BUILD - a thousand cuts (host_cuts.sh).
exec bash "$1/tests/tools/host_cuts.sh" "$1" "$2" 1000
