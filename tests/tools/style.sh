#!/bin/bash
# style.sh SOURCE BUILD - what a compiler does not check: functions that must not be called, layout,
# head comments, sizes of files and functions, unfinished business, traces of somebody's machine.
set -euo pipefail
cd "$1"
bad=0
complain() { echo "style: $*"; bad=1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mapfile -t all < <(find src include tests examples -name '*.[ch]' | sort)
mapfile -t own < <(find src include -name '*.[ch]' | sort)

# FILE:LINE:TEXT with comments, strings and character constants blanked out.
perl -0777 -ne 's{(/\*.*?\*/|//[^\n]*)|("(?:\\.|[^"\\\n])*"|'"'(?:\\\\.|[^'\\\\\\n])*'"')}
        { my $t = $&; $t =~ s/[^\n]/ /g; $t }gsxe;
    my $n = 0; for (split /\n/, $_, -1) { $n++; print "$ARGV:$n:$_\n"; }' "${all[@]}" >"$work/all"
grep -av '^tests/' "$work/all" >"$work/shown" # tests may be careless with text of their own
grep -aE '^(src|include)/' "$work/all" >"$work/own"
grep -avE '^src/(cli|worker)/' "$work/own" >"$work/library"

# ban REASON NAMES CODE - a call of one of the names, not of a member or a longer name
ban() {
    while IFS=: read -r file line text; do
        complain "$file:$line: $(grep -oE "\\<($2)\\>" <<<"$text" | head -1): $1"
    done < <(grep -aE "^[^:]*:[0-9]+:(.*[^A-Za-z0-9_.>])?($2) *\\(" "$work/$3" || true)
}

ban "has no bound, or no way to fail" \
    'strcpy|stpcpy|strcat|sprintf|vsprintf|gets|alloca|strtok|atoi|atol|atoll|atof' shown
ban "is not to be trusted with names of files" 'tmpnam|tempnam|mktemp|tmpfile' all
ban "goes through a shell: see base/child.h" 'system|popen' own
ban "is not safe with threads" \
    'strerror|localtime|gmtime|ctime|asctime|rand|srand|random|srandom|drand48|getpwnam|getpwuid|readdir64' own
ban "changes the whole process" \
    'setlocale|chdir|fchdir|umask|signal|sigaction|setenv|putenv|unsetenv' library
ban "ends the process, which belongs to our caller" \
    'exit|_exit|_Exit|quick_exit|abort|atexit|raise' library
ban "reads the environment, which the tool does and hands over" 'getenv|secure_getenv' library
ban "prints: the library reports through qdq_error and qdq_job" \
    'printf|vprintf|puts|putchar|perror|fputs_unlocked|dprintf|vdprintf' library
ban "copies a process that may have threads and gigabytes mapped: see base/child.h" \
    'fork|vfork|daemon' own
ban "allocates behind our back" 'strdup|strndup|asprintf|vasprintf' library
while IFS=: read -r file line _; do
    complain "$file:$line: the library does not write to stdout or stderr"
done < <(grep -aE '^[^:]*:[0-9]+:.*\<(stdout|stderr)\>' "$work/library" || true)

# A comment at the head says what a file is for.
while read -r file name; do
    complain "$file:1: does not begin with '/* $name - WHAT FOR'"
done < <(awk 'FNR == 1 {
    name = FILENAME
    if (!sub(/^include\/qdq\//, "qdq/", name)) sub(/.*\//, "", name)
    if (index($0, "/* " name " - ") != 1) print FILENAME, name
    nextfile }' "${own[@]}")

while IFS=: read -r file line _; do
    complain "$file:$line: says where to look, expected what the file is for"
done < <(grep -nE '^/\* [a-z_0-9]+\.[ch] - see ' "${own[@]}" || true)

mapfile -t rest < <(find . -path './build*' -prune -o -path ./.git -prune -o -path ./.ci -prune -o -type f \
    \( -name '*.md' -o -name '*.sh' -o -name '*.py' -o -name '*.js' -o -name '*.css' -o -name '*.cpp' \
    -o -name '*.cmake' -o -name '*.cmake.in' -o -name CMakeLists.txt -o -name Makefile \) -print |
    grep -vE '^./docs/(cli|passes)\.md$|^./tests/fuzz/corpus/')

# Files of every language stay below 600 lines; pages of documents have no limit.
while read -r lines file; do
    complain "${file#./}: has $lines lines, expected at most 600"
done < <(printf '%s\n' "${all[@]}" "${rest[@]}" | grep -v '\.md$' | xargs wc -l |
    awk '$1 > 600 && $2 != "total"')

# Functions begin and end with a brace in the first column.
while read -r place lines; do
    complain "$place: a function of $lines lines, expected at most 80"
done < <(awk 'FNR == 1 { start = 0 } /^\{/ { start = FNR } /^\}/ && start {
    if (FNR - start - 1 > 80) print FILENAME ":" start, FNR - start - 1; start = 0 }' "${own[@]}")

while IFS=: read -r file line text; do
    complain "$file:$line: unfinished business without the number of an issue: $text"
done < <(grep -rnE '\<(TODO|FIXME|XXX|HACK)\>' src include tests examples docs scripts README.md \
    CONTRIBUTING.md \
    --exclude=style.sh 2>/dev/null | grep -vE '(TODO|FIXME) ?\(?#[0-9]+' || true)

while IFS=: read -r file line text; do
    complain "$file:$line: names a place on somebody's machine: $text"
done < <(grep -rnIE '(^|[^A-Za-z0-9_.])/(home|root|work|Users)/[a-z]' src include tests examples \
    docs scripts cmake \
    Makefile CMakeLists.txt README.md CONTRIBUTING.md CHANGELOG.md --exclude=style.sh 2>/dev/null ||
    true)

# Lines end at 100 columns; clang-format sees to C. Longer may be: tables, code and headings in
# documents, what has no space to break at, and text in shell scripts: in quotes, here-documents.
while IFS=: read -r file line length; do
    complain "${file#./}:$line: $length columns, expected at most 100"
done < <(perl -CSD -0777 -ne '
    my $shell = $ARGV =~ /\.sh$/;
    my $md = $ARGV =~ /\.md$/;
    if ($shell) {
        s/<<-?\s*(["\x27]?)(\w+)\1([^\n]*\n)(.*?\n)\t*\2(?=\n)/my ($l, $t) = ($3, $4); $t =~ s{[^\n]}{}g; $l.$t/gse;
        s/(?<!\\)(\x27[^\x27]*\x27|"(?:\\.|[^"\\])*")/my $t = $1; $t =~ s{[^\n]}{}g; $t/gse;
    }
    s/^```.*?^```/my $t = $&; $t =~ s{[^\n]}{}g; $t/gmse if $md;
    my $n = 0;
    for (split /\n/) {
        $n++;
        next if $md && /^(\||#|    )/;
        s/^\s*([-*>]|\d+\.)\s+// if $md && length > 100 && !/^\s*([-*>]|\d+\.)\s+\S+\s+\S/;
        print "$ARGV:$n:", length, "\n" if length > 100 && /\S\s+\S/;
    }' "${rest[@]}" .ci/run)

# A program with a main() of its own runs the tests that it names there, and no other.
while read -r file; do
    while read -r name; do
        grep -q "_test.*($name[,)]" "$file" || complain "$file: main() does not run $name"
    done < <(sed -nE 's/^TEST\((.*)\)$/\1/p' "$file")
done < <(grep -l '^int main(' tests/*/*.c)

# A whole graph that takes more than a line of C is text in tests/graphs; what a loop prints is not.
while read -r place; do
    complain "$place: a graph of more than one line: move it to tests/graphs, see test_graph()"
done < <(perl -0777 -ne '
    while (/"(?:\\.|[^"\\\n])*"(?:\s+"(?:\\.|[^"\\\n])*")+/g) {
        my ($at, $text) = ($-[0], $&);
        next if $text !~ /\) => \(.*[)>][^=]*?\{/s || $text =~ /%/;
        next if ($text =~ tr/{//) != ($text =~ tr/}//);
        print "$ARGV:", 1 + (substr($_, 0, $at) =~ tr/\n//), "\n";
    }' tests/{unit,numeric,fault,broken,perf,long,support}/*.[ch])

# A clone is whole: no link leads out of it.
while read -r link; do
    target=$(realpath -m "$link")
    [[ $target == "$PWD"/* ]] || complain \
        "$link: a link that leaves the repository: $(readlink "$link")"
done < <(find . -path './build*' -prune -o -path ./.git -prune -o -type l -print)

# Another release of clang-format has other opinions.
version=$(clang-format --version 2>/dev/null | grep -oE 'version [0-9]+' | tail -c +9 || true)
if [[ $version == 14 ]]; then
    clang-format --dry-run -Werror "${all[@]}" 2>"$work/layout" || {
        sed 's/^/style: /' "$work/layout" | grep error: | head -20
        complain "layout: run make format"
    }
else
    echo "style: layout not checked: clang-format 14 is not here (found: ${version:-none})"
fi
exit $bad
