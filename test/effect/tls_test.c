/* tls_test.c - requests over TLS, to a server with certificates of all kinds; they are made here, by the openssl tool. */
#include "effect/hand.h"
#include "effect/server.h"
#include "net/net.h"

#include <dlfcn.h>
#include <sys/stat.h>

/* ---- a server; libssl is opened, so that nothing has to be linked ------------------------------------------ */

typedef struct tls {
    const void *(*method)(void);
    void *(*ctx_new)(const void *method);
    void (*ctx_free)(void *ctx);
    int (*ctx_chain)(void *ctx, const char *file);
    int (*ctx_key)(void *ctx, const char *file, int type);
    void *(*ssl_new)(void *ctx);
    void (*ssl_free)(void *ssl);
    int (*set_fd)(void *ssl, int fd);
    int (*accept)(void *ssl);
    int (*read)(void *ssl, void *data, int size);
    int (*write)(void *ssl, const void *data, int size);
    int (*shutdown)(void *ssl);
} tls;

static tls lib;
static char folder[] = "/tmp/pawl-tls-XXXXXX";

static bool symbol(void *from, const char *name, void *slot)
{
    void *at = dlsym(from, name);

    memcpy(slot, &at, sizeof at);
    return at != NULL;
}

static bool tls_open(void)
{
    void *from = dlopen("libssl.so.3", RTLD_NOW);

    if (from == NULL)
        from = dlopen("libssl.so.1.1", RTLD_NOW);
    return from != NULL && symbol(from, "TLS_server_method", &lib.method) && symbol(from, "SSL_CTX_new", &lib.ctx_new) &&
           symbol(from, "SSL_CTX_free", &lib.ctx_free) && symbol(from, "SSL_CTX_use_certificate_chain_file", &lib.ctx_chain) &&
           symbol(from, "SSL_CTX_use_PrivateKey_file", &lib.ctx_key) && symbol(from, "SSL_new", &lib.ssl_new) &&
           symbol(from, "SSL_free", &lib.ssl_free) && symbol(from, "SSL_set_fd", &lib.set_fd) && symbol(from, "SSL_accept", &lib.accept) &&
           symbol(from, "SSL_read", &lib.read) && symbol(from, "SSL_write", &lib.write) && symbol(from, "SSL_shutdown", &lib.shutdown);
}

/* One thread for each connection: a kept one is no hindrance to the next. */
typedef struct tls_server {
    int fd, port, plain_port;   /* the plain one: where a redirect leads */
    void *ctx;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_t talks[CONNECTIONS_MAX];
    unsigned requests, connections, refused;
} tls_server;

typedef struct talk { tls_server *s; int fd; } talk;

static void counted(tls_server *s, unsigned *what)
{
    pthread_mutex_lock(&s->lock);
    ++*what;
    pthread_mutex_unlock(&s->lock);
}

static bool tls_answer(tls_server *s, void *ssl, char *room, int size)
{
    char text[256];
    int n = 0, got;

    do {
        if ((got = lib.read(ssl, room + n, size - 1 - n)) <= 0)
            return false;
        room[n += got] = '\0';
    } while (strstr(room, "\r\n\r\n") == NULL);
    counted(s, &s->requests);
    if (strstr(room, " /to-http ") != NULL)
        snprintf(text, sizeof text, "HTTP/1.1 302 There\r\nLocation: http://127.0.0.1:%d/ok\r\nContent-Length: 0\r\n\r\n", s->plain_port);
    else if (strstr(room, " /to-https ") != NULL)
        snprintf(text, sizeof text, "HTTP/1.1 302 There\r\nLocation: https://127.0.0.1:%d/ok\r\nContent-Length: 0\r\n\r\n", s->port);
    else
        snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    if (strstr(room, " /nothing ") != NULL)
        return false;
    return lib.write(ssl, text, (int)strlen(text)) > 0;
}

static void *tls_talk(void *arg)
{
    talk t = *(talk *)arg;
    void *ssl = lib.ssl_new(t.s->ctx);
    char room[4096];
    pipe_hold hold;

    free(arg);
    pipe_guard(&hold);
    lib.set_fd(ssl, t.fd);
    if (lib.accept(ssl) == 1)
        while (tls_answer(t.s, ssl, room, sizeof room))
            continue;
    else
        counted(t.s, &t.s->refused);
    lib.shutdown(ssl);
    lib.ssl_free(ssl);
    close(t.fd);
    pipe_release(&hold);
    return NULL;
}

static void *tls_serve(void *arg)
{
    tls_server *s = arg;
    int fd;

    while (s->connections < CONNECTIONS_MAX && (fd = accept(s->fd, NULL, NULL)) >= 0) {
        talk *t = malloc(sizeof *t);

        *t = (talk){ s, fd };
        if (pthread_create(&s->talks[s->connections], NULL, tls_talk, t) == 0)
            counted(s, &s->connections);
    }
    return NULL;
}

static void tls_start(tls_server *s, const char *certificate, int plain_port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof at;
    char cert[128], key[128];

    *s = (tls_server){ .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .plain_port = plain_port, .ctx = lib.ctx_new(lib.method()) };
    snprintf(cert, sizeof cert, "%s/%s.pem", folder, certificate);
    snprintf(key, sizeof key, "%s/key.pem", folder);
    CHECK(s->ctx != NULL && lib.ctx_chain(s->ctx, cert) == 1 && lib.ctx_key(s->ctx, key, 1) == 1);
    pthread_mutex_init(&s->lock, NULL);
    CHECK(s->fd >= 0 && bind(s->fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(s->fd, 16) == 0);
    CHECK_INT(getsockname(s->fd, (struct sockaddr *)&at, &size), 0);
    s->port = ntohs(at.sin_port);
    CHECK_INT(pthread_create(&s->thread, NULL, tls_serve, s), 0);
}

static void tls_stop(tls_server *s)
{
    net_forget();
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    for (unsigned i = 0; i < s->connections; i++)
        pthread_join(s->talks[i], NULL);
    close(s->fd);
    lib.ctx_free(s->ctx);
    pthread_mutex_destroy(&s->lock);
}

static unsigned tls_count(tls_server *s, const unsigned *what)
{
    unsigned n;

    pthread_mutex_lock(&s->lock);
    n = *what;
    pthread_mutex_unlock(&s->lock);
    return n;
}

/* ---- certificates -------------------------------------------------------------------------------------------- */

/* One key for all of them. A trusted authority and one that nobody knows; of the first: a good certificate, one that has expired,
 * one of another host. */
static const char script[] =
    "cd %s && exec >log 2>&1 && openssl ecparam -name prime256v1 -genkey -noout -out key.pem &&"
    " openssl req -x509 -new -key key.pem -subj '/CN=Test CA' -days 2 -out ca.pem &&"
    " openssl ecparam -name prime256v1 -genkey -noout -out other.pem &&"
    " openssl req -x509 -new -key other.pem -subj '/CN=Other CA' -days 2 -out other-ca.pem &&"
    " openssl req -new -key key.pem -subj '/CN=server' -out request &&"
    " echo subjectAltName=IP:127.0.0.1 >here && echo subjectAltName=DNS:elsewhere.example >there &&"
    " openssl x509 -req -in request -CA ca.pem -CAkey key.pem -set_serial 1 -days 2 -extfile here -out good.pem &&"
    " openssl x509 -req -in request -CA ca.pem -CAkey key.pem -set_serial 2 -days -1 -extfile here -out old.pem &&"
    " openssl x509 -req -in request -CA ca.pem -CAkey key.pem -set_serial 3 -days 2 -extfile there -out wrong.pem &&"
    " openssl x509 -req -in request -CA other-ca.pem -CAkey other.pem -set_serial 4 -days 2 -extfile here -out unknown.pem";

static bool certificates_make(void)
{
    char command[2048];

    snprintf(command, sizeof command, script, folder);
    return system(command) == 0;
}

typedef struct world {
    hand h;
    tls_server s;
    server plain;
} world;

static void world_open(world *w, const char *certificate)
{
    hand_init(&w->h);
    server_start(&w->plain);
    tls_start(&w->s, certificate, w->plain.port);
}

static void world_close(world *w)
{
    tls_stop(&w->s);
    server_stop(&w->plain);
    hand_free(&w->h);
}

/* `ca`: NULL: none is said. */
static pawl_code get(world *w, const char *host, const char *path, const char *ca)
{
    char args[400], trust[200] = "";

    if (ca != NULL)
        snprintf(trust, sizeof trust, ",\"ca\":\"%s/%s.pem\"", folder, ca);
    snprintf(args, sizeof args, "{\"url\":\"https://%s:%d%s\"%s}", host, w->s.port, path, trust);
    return hand_over(&w->h, pawl_effect_http, args);
}

/* Refused before anything is sent, for good, and with words. */
static void refused(world *w, pawl_code rc, const char *said_of_it)
{
    CHECK_INT(rc, PAWL_EFFECT);
    if (strstr(reply_why(&w->h.reply), ": its certificate is not to be trusted: ") == NULL || strstr(reply_why(&w->h.reply), said_of_it) == NULL)
        CHECK_FAIL("\"%s\" does not say \"%s\"", reply_why(&w->h.reply), said_of_it);
    CHECK(w->h.reply.untouched);
    CHECK_INT(tls_count(&w->s, &w->s.requests), 0);
}

/* ---- whom to trust --------------------------------------------------------------------------------------------- */

PAWL_TEST(test_tls_trusts_the_authority_that_it_is_told)
{
    world w;

    world_open(&w, "good");
    CHECK_INT(get(&w, "127.0.0.1", "/ok", "ca"), PAWL_OK);
    CHECK_STR(said(&w.h, "/body"), "hello");
    world_close(&w);
}

PAWL_TEST(test_tls_trusts_the_authority_of_the_environment)
{
    char path[128];
    world w;

    world_open(&w, "good");
    snprintf(path, sizeof path, "%s/ca.pem", folder);
    setenv("SSL_CERT_FILE", path, 1);
    CHECK_INT(get(&w, "127.0.0.1", "/ok", NULL), PAWL_OK);
    CHECK_INT(get(&w, "127.0.0.1", "/ok", "other-ca"), PAWL_EFFECT);        /* what is said goes before */
    unsetenv("SSL_CERT_FILE");
    CHECK_INT(get(&w, "127.0.0.1", "/ok", NULL), PAWL_EFFECT);      /* and a kept connection was trusted by another word */
    CHECK_INT(tls_count(&w.s, &w.s.requests), 1);
    world_close(&w);
}

PAWL_TEST(test_tls_refuses_an_authority_that_nobody_knows)
{
    world w;

    world_open(&w, "good");
    refused(&w, get(&w, "127.0.0.1", "/ok", NULL), "certificate");
    refused(&w, get(&w, "127.0.0.1", "/ok", "other-ca"), "certificate");
    world_close(&w);
    world_open(&w, "unknown");
    refused(&w, get(&w, "127.0.0.1", "/ok", "ca"), "certificate");
    world_close(&w);
}

PAWL_TEST(test_tls_refuses_a_certificate_that_has_expired)
{
    world w;

    world_open(&w, "old");
    refused(&w, get(&w, "127.0.0.1", "/ok", "ca"), "expired");
    world_close(&w);
}

PAWL_TEST(test_tls_refuses_a_certificate_of_another_host)
{
    world w;

    world_open(&w, "wrong");
    refused(&w, get(&w, "127.0.0.1", "/ok", "ca"), "127.0.0.1");
    world_close(&w);
    world_open(&w, "good");
    refused(&w, get(&w, "localhost", "/ok", "ca"), "localhost");
    world_close(&w);
}

PAWL_TEST(test_X1_a_file_of_certificates_that_is_none_is_told)
{
    world w;

    world_open(&w, "good");
    CHECK_INT(get(&w, "127.0.0.1", "/ok", "missing"), PAWL_INVALID);
    CHECK(strstr(reply_why(&w.h.reply), "(\"ca\", or SSL_CERT_FILE) cannot be read") != NULL && w.h.reply.untouched);
    CHECK_INT(get(&w, "127.0.0.1", "/ok", "key"), PAWL_INVALID);        /* a file, and no certificate in it */
    CHECK_INT(hand_over(&w.h, pawl_effect_http, "{\"url\":\"https://127.0.0.1:1/\",\"ca\":7}"), PAWL_INVALID);
    CHECK_INT(tls_count(&w.s, &w.s.requests), 0);
    world_close(&w);
}

/* ---- redirects, and connections that are kept -------------------------------------------------------------------- */

PAWL_TEST(test_tls_no_redirect_leads_out_of_it)
{
    world w;

    world_open(&w, "good");
    CHECK_INT(get(&w, "127.0.0.1", "/to-http", "ca"), PAWL_EFFECT);
    CHECK(strstr(reply_why(&w.h.reply), "redirects to http, where all may read it") != NULL);
    CHECK_INT(asked_of(&w.plain), 0);
    CHECK_INT(get(&w, "127.0.0.1", "/to-https", "ca"), PAWL_OK);
    CHECK_INT(tls_count(&w.s, &w.s.requests), 3);
    world_close(&w);
}

PAWL_TEST(test_tls_connections_are_kept)
{
    world w;

    world_open(&w, "good");
    for (int i = 0; i < 10; i++)
        CHECK_INT(get(&w, "127.0.0.1", i % 2 == 0 ? "/ok" : "/to-https", "ca"), PAWL_OK);
    CHECK_INT(tls_count(&w.s, &w.s.requests), 15);
    CHECK_INT(tls_count(&w.s, &w.s.connections), 1);
    CHECK_INT(get(&w, "127.0.0.1", "/nothing", "ca"), PAWL_TRANSIENT);
    CHECK(strstr(reply_why(&w.h.reply), "which may have arrived") != NULL && !w.h.reply.untouched);
    CHECK_INT(tls_count(&w.s, &w.s.requests), 16);
    CHECK_INT(tls_count(&w.s, &w.s.connections), 1);
    world_close(&w);
}

/* ---- all of them --------------------------------------------------------------------------------------------------- */

static void skip(void)
{
    check_skip("there is no libssl, or no openssl tool to make certificates with: script/setup installs it");
}

int main(int argc, char **argv)
{
    char command[64];
    int rc = 0;

    unsetenv("SSL_CERT_FILE");
    if (mkdtemp(folder) == NULL)
        return 1;
    if (tls_open() && certificates_make())
        rc = check_main(argc, argv);
    else
        (void)check_alone("tls", skip);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) == 0 ? rc : 1;
}
