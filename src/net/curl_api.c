/* curl_api.c - opens libcurl at the first request: linking it would slow down every start of the program.
 *
 * Owns `curl`, which is written once, under pthread_once; any thread may call. */
#include "net/curl_api.h"
#include "net/io_loop.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

curl_api curl;
static bool loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool symbol(void *lib, const char *name, void *slot)
{
    void *at = dlsym(lib, name);

    memcpy(slot, &at, sizeof at);   /* C has no cast from an object pointer to a function pointer */
    return at != NULL;
}

static void load(void)
{
    static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.4.dylib" };
    const struct { const char *name; void *slot; } symbols[] = {
        { "curl_global_init", &curl.global_init }, { "curl_version_info", &curl.version_info },
        { "curl_easy_init", &curl.easy_init }, { "curl_easy_cleanup", &curl.easy_cleanup },
        { "curl_easy_setopt", &curl.easy_setopt }, { "curl_easy_getinfo", &curl.easy_getinfo },
        { "curl_easy_strerror", &curl.easy_strerror }, { "curl_slist_append", &curl.slist_append },
        { "curl_slist_free_all", &curl.slist_free_all }, { "curl_multi_init", &curl.multi_init },
        { "curl_multi_cleanup", &curl.multi_cleanup }, { "curl_multi_setopt", &curl.multi_setopt },
        { "curl_multi_add_handle", &curl.multi_add_handle }, { "curl_multi_remove_handle", &curl.multi_remove_handle },
        { "curl_multi_perform", &curl.multi_perform }, { "curl_multi_poll", &curl.multi_poll },
        { "curl_multi_socket_action", &curl.multi_socket_action }, { "curl_multi_assign", &curl.multi_assign },
        { "curl_multi_info_read", &curl.multi_info_read },
    };
    void *lib = NULL;
    bool all;

    for (size_t i = 0; i < sizeof names / sizeof *names && lib == NULL; i++)
        lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    all = lib != NULL;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols && all; i++)
        all = symbol(lib, symbols[i].name, symbols[i].slot);
    /* The loop thread must end before the exit handlers of libcurl's libraries, which are registered by now. */
    loaded = all && curl.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK && atexit(io_loop_halt) == 0;
}

bool curl_here(void)
{
    pthread_once(&once, load);
    return loaded;
}

bool net_library_of(net_library *out)
{
    const curl_version_info_data *info;

    *out = (net_library){ 0 };
    if (!curl_here())
        return false;
    info = curl.version_info(CURLVERSION_NOW);
    out->version = info->version;
    out->tls = info->ssl_version;
#if LIBCURL_VERSION_NUM >= 0x074600
    if (info->age >= CURLVERSION_SEVENTH) {     /* the struct of an older library ends before these members */
        out->ca_file = info->cainfo;
        out->ca_folder = info->capath;
    }
#endif
    return true;
}
