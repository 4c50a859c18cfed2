# Writes OUTPUT, a C file that defines NAME, the bytes of FILE, and NAME_size, their number. HEADER declares both.
file(READ ${FILE} hex HEX)
string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "(char)0x\\1," hex "${hex}")
file(WRITE ${OUTPUT} "#include \"${HEADER}\"\n\nconst char ${NAME}[] = {\n${hex}0\n};\nconst size_t ${NAME}_size = sizeof ${NAME} - 1;\n")
