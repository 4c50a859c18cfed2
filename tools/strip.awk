# strip(line): the line without comments and without the inside of strings and characters.
# `in_comment` carries over to the next line; set it to 0 at the top of a file.
function strip(line,    out, quote) {
    out = ""
    for (;;) {
        if (in_comment) {
            if (!index(line, "*/"))
                return out
            line = substr(line, index(line, "*/") + 2)
            in_comment = 0
        }
        if (!match(line, /"|'|\/\*|\/\//))
            return out line
        out = out substr(line, 1, RSTART - 1)
        quote = substr(line, RSTART, RLENGTH)
        line = substr(line, RSTART + RLENGTH)
        if (quote == "//")
            return out
        if (quote == "/*") {
            in_comment = 1
            out = out " "
            continue
        }
        while (match(line, quote == "\"" ? "[\"\\\\]" : "['\\\\]") && substr(line, RSTART, 1) == "\\")
            line = substr(line, RSTART + 2)
        line = RSTART ? substr(line, RSTART + 1) : ""
        out = out quote quote
    }
}

# Call each(name, before) for every `name(` in a stripped line; `before` is the text to its left.
function calls(line,    name, at, before) {
    before = ""
    while (match(line, /[A-Za-z_][A-Za-z0-9_]*[ \t]*\(/)) {
        name = substr(line, RSTART, RLENGTH - 1)
        before = before substr(line, 1, RSTART - 1)
        at = RSTART + RLENGTH
        sub(/[ \t]+$/, "", name)
        each(name, before)
        before = before name "("
        line = substr(line, at)
    }
}
