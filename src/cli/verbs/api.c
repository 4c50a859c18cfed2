/* api.c - docs/API.md, printed for tools/api. Called by options.c on the main thread. */
#include "cli/verbs.h"
#include "serve/serve.h"

int api_page(void)
{
    bool good;
    buf b;

    buf_init(&b, NULL);
    serve_api_page(&b);
    good = !b.failed && fwrite(b.data, 1, b.size, stdout) == b.size;
    buf_free(&b);
    return good ? EXIT_DONE : EXIT_FAILED;
}
