/* curl_api.h - libcurl's functions, opened at run time. Only src/net includes this. */
#ifndef NET_CURL_API_H
#define NET_CURL_API_H

#include "net/net.h"

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

typedef struct curl_api {
    CURLcode (*global_init)(long flags);
    curl_version_info_data *(*version_info)(CURLversion version);
    CURL *(*easy_init)(void);
    void (*easy_cleanup)(CURL *easy);
    CURLcode (*easy_setopt)(CURL *easy, CURLoption option, ...);
    CURLcode (*easy_getinfo)(CURL *easy, CURLINFO info, ...);
    const char *(*easy_strerror)(CURLcode code);
    struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
    void (*slist_free_all)(struct curl_slist *list);
    CURLM *(*multi_init)(void);
    CURLMcode (*multi_cleanup)(CURLM *multi);
    CURLMcode (*multi_setopt)(CURLM *multi, CURLMoption option, ...);
    CURLMcode (*multi_add_handle)(CURLM *multi, CURL *easy);
    CURLMcode (*multi_remove_handle)(CURLM *multi, CURL *easy);
    CURLMcode (*multi_perform)(CURLM *multi, int *running);
    CURLMcode (*multi_poll)(CURLM *multi, struct curl_waitfd *extra, unsigned n, int ms, int *ready);
    CURLMcode (*multi_socket_action)(CURLM *multi, curl_socket_t fd, int events, int *running);
    CURLMcode (*multi_assign)(CURLM *multi, curl_socket_t fd, void *ours);
    CURLMsg *(*multi_info_read)(CURLM *multi, int *left);
} curl_api;

/* Never written to again after curl_here() has returned true. */
extern curl_api curl;
/* Whether there is a libcurl; the first call opens it. Any thread. */
bool curl_here(void);

#endif
