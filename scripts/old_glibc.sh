#!/bin/sh
# old_glibc.sh CC VERSION FOLDER - make stand-ins for the libc and libm of CC's system in FOLDER, to
# link with `-L FOLDER`: every symbol has the newest of its versions up to VERSION (2.27), and those
# that came later are missing. A program that is linked with them runs with glibc VERSION and newer.
# Only names, types and sizes matter: at run time the system's libraries are loaded.
set -eu

cc=$1 version=$2 folder=$3
die() { printf 'old_glibc: error: %s\n' "$*" >&2; exit 1; }
find_library() {
    found=$($cc -print-file-name="$1")
    [ "$found" != "$1" ] || die "$cc finds no $1"
    printf '%s' "$found"
}

mkdir -p "$folder"
for name in libc.so.6 libm.so.6; do
    library=$(find_library "$name")
    # Fields: number, value, size, type, binding, visibility, section, NAME@VERSION or
    # NAME@@VERSION.
    readelf --dyn-syms -W "$library" | awk -v limit="$version" -v asm="$folder/$name.s" \
        -v map="$folder/$name.map" '
        function number(text, part) {
            split(text, part, ".")
            return part[1] * 1000000 + part[2] * 1000 + part[3]
        }
        $7 != "UND" && $7 != "ABS" && $4 != "TLS" && $8 ~ /@GLIBC_[0-9.]+$/ {
            split($8, part, /@+GLIBC_/)
            now = number(part[2])
            if (now > number(limit) || (part[1] in best && now <= best[part[1]]))
                next
            best[part[1]] = now
            node[part[1]] = part[2]
            type[part[1]] = $4
            place[part[1]] = $2
            size[part[1]] = $3
        }
        END {
            for (name in best) {
                if (type[name] == "OBJECT") { # environ and __environ stay one variable
                    labels[place[name]] = labels[place[name]] sprintf( \
                        ".globl %s\n.type %s, %%object\n.size %s, %s\n%s:\n", name, name, name,
                        size[name], name)
                    if (size[name] > room[place[name]])
                        room[place[name]] = size[name]
                } else
                    printf ".text\n.globl %s\n.type %s, %%function\n%s: .skip 4\n", name, name,
                        name >asm
                names[node[name]] = names[node[name]] " " name ";"
                count++
            }
            for (at in labels)
                printf ".bss\n.balign 32\n%s.skip %s\n", labels[at], room[at] >asm
            print ".section .note.GNU-stack, \"\", %progbits" >asm
            for (v in names)
                printf "GLIBC_%s { global:%s };\n", v, names[v] >map
            exit count < 100
        }' || die "$library: found no symbols with versions of glibc"
    $cc -shared -nostdlib -o "$folder/$name" "$folder/$name.s" -Wl,-soname,"$name" \
        -Wl,--version-script,"$folder/$name.map"
done

loader=$(readelf -d "$(find_library libc.so.6)" | sed -n 's/.*(NEEDED).*\[\(ld-.*\)\]$/\1/p')
[ -n "$loader" ] || die "libc.so.6 names no loader"
ln -sf libm.so.6 "$folder/libm.so"
# last: its presence says that all is there
echo "GROUP ( $folder/libc.so.6 $(find_library libc_nonshared.a) AS_NEEDED ( $(find_library "$loader") ) )" \
    >"$folder/libc.so"
