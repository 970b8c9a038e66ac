try() {
    qdq bench m --shape "$@"
    echo "$* -> $?"
}
try x
try x=
try =1
try x=1x
try x=1x-2
try x=ax2
try x=0
try x=1x2x3x4x5x6x7x8x9x10x11x12x13
try x=99999999999
try 'x=1 x 2'
qdq bench m --shape x=1 --shape x=2
