# What is not an engine in a shared library.
qdq engines ./nothing.so; echo $?
echo '#!/bin/sh' >script.so
qdq engines ./script.so:with:argument; echo $?
