/* plain_graph.c - graphs whose nodes do nothing, and what is found in a graph, as text. */
#include "lib/plain_graph.h"

#include <stdio.h>
#include <string.h>

pawl_code node_follows(pawl_step *s, void *arg)
{
    (void)arg;
    return pawl_follow(s);
}

const char *node_routes(pawl_step *s, void *arg)
{
    (void)s;
    return arg;
}

bool node_holds(pawl_step *s, void *arg)
{
    (void)s;
    return arg != NULL;
}

void nodes_add(pawl_graph *g, const char *names)
{
    char name[65];

    while (*names != '\0') {
        size_t n = strcspn(names, " ");

        memcpy(name, names, n);
        name[n] = '\0';
        pawl_graph_node(g, name, node_follows, NULL);
        names += names[n] == ' ' ? n + 1 : n;
    }
}

const char *report_text(const pawl_report *r)
{
    static char text[16384];
    size_t n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < pawl_report_count(r); i++) {
        const pawl_finding *f = pawl_report_at(r, i);

        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s | %s | %s\n", f->severity == PAWL_SEVERITY_WARNING ? "(warning) " : "", f->kind, f->text,
                              f->path);
    }
    return text;
}
