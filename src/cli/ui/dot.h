/* dot.h - Graphviz, where it is installed. */
#ifndef CLI_DOT_H
#define CLI_DOT_H

#include "json/json.h"

/* SVG of a text in DOT, by the program `dot`. PAWL_GONE: it is not here, err says how to get it; PAWL_EFFECT: it failed. */
pawl_code dot_svg(const char *text, buf *svg, pawl_err *err);

#endif
