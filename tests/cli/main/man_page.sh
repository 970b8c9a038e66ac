# The manual lists commands and exit codes before the thousand lines of options.
qdq __docs man >qdq.1
grep '^\.SH' qdq.1
sed -n '/^\.SH COMMANDS$/,/^\.SH EXIT/p' qdq.1 | grep -c '^\.B [a-z]'
sed -n '/^\.SH EXIT/,/^\.SH OPTIONS/p' qdq.1 | grep '^\.B' | tr '\n' ' '
echo
