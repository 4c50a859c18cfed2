/* changed_nodes.h - the nodes in which two texts of an agent file differ. */
#ifndef CLI_CHANGED_NODES_H
#define CLI_CHANGED_NODES_H

#include "file/file.h"

/* "write, mail (new), list (gone)", of the file itself and not of those that it names; NULL: the nodes are the same, or it has none. */
const char *changed_nodes(arena *mem, const doc *now, const char *kept, size_t size);

#endif
