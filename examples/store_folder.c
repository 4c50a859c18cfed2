/* store_folder.c - a store of your own in three methods: a record is a file. A process is killed in the middle of a run; the next one goes on with it.
 *
 * docs/STORES.md says what the methods promise. test/store/folder_contract.c proves that these keep it. */
#include <pawl/pawl.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the store: eight bytes of version, then the value -------------------------------------------- */

typedef struct folder { int dir, lock; } folder;       /* one for each thread: a lock of flock() is that of its descriptor */

static pawl_code failed(pawl_err *err)
{
    snprintf(err->text, sizeof err->text, "%s", strerror(errno));
    return PAWL_IO;
}

static bool version_of(const folder *f, const char *key, uint64_t *version)     /* 0: no such record; false: nobody knows */
{
    int fd = openat(f->dir, key, O_RDONLY);
    bool good = fd >= 0 ? read(fd, version, sizeof *version) == sizeof *version : errno == ENOENT;

    if (fd < 0)
        *version = 0;
    else
        close(fd);
    return good;
}

/* A reader sees the old file or the new one, never half of it, and a crash of the machine leaves one of them. */
static bool replaced(const folder *f, const char *key, uint64_t version, pawl_bytes value)
{
    int fd = openat(f->dir, ".new", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    bool good = fd >= 0 && write(fd, &version, sizeof version) == sizeof version && write(fd, value.data, value.size) == (ssize_t)value.size &&
                fsync(fd) == 0;

    if (fd >= 0)
        close(fd);
    if (!good || renameat(f->dir, ".new", f->dir, key) != 0)
        return false;
    if (fsync(f->dir) != 0) {           /* readers see it, and nobody knows whether a crash takes it back: Pawl must not read it and go on */
        perror("store");
        abort();
    }
    return true;
}

static pawl_code folder_put(void *ctx, const char *key, uint64_t before, uint64_t version, pawl_bytes value, pawl_err *err)
{
    const folder *f = ctx;
    pawl_code rc = PAWL_OK;
    uint64_t is;

    if (flock(f->lock, LOCK_EX) != 0)
        return failed(err);
    if (!version_of(f, key, &is))
        rc = failed(err);
    else if (is != before)
        rc = PAWL_CONFLICT;
    else if (value.data == NULL ? before != 0 && unlinkat(f->dir, key, 0) != 0 : !replaced(f, key, version, value))
        rc = failed(err);
    flock(f->lock, LOCK_UN);
    return rc;
}

static pawl_code folder_get(void *ctx, const char *key, pawl_out *out, uint64_t *version, pawl_err *err)
{
    const folder *f = ctx;
    int fd = openat(f->dir, key, O_RDONLY);
    struct stat st = { .st_size = 0 };
    pawl_code rc = PAWL_OK;
    ssize_t size;
    void *to;

    if (fd < 0)
        return errno == ENOENT ? PAWL_GONE : failed(err);
    if (fstat(fd, &st) != 0 || (size = (ssize_t)st.st_size - 8) < 0 || read(fd, version, 8) != 8)
        rc = failed(err);
    else if ((to = pawl_out_size(out, (size_t)size)) == NULL)
        rc = PAWL_NOMEM;
    else if (read(fd, to, (size_t)size) != size)
        rc = failed(err);
    close(fd);
    return rc;
}

static pawl_code folder_list(void *ctx, const char *prefix, pawl_record_fn *fn, void *fn_ctx, pawl_err *err)
{
    const folder *f = ctx;
    DIR *d = fdopendir(openat(f->dir, ".", O_RDONLY));
    const struct dirent *e;
    pawl_code rc = PAWL_OK;
    uint64_t version;

    if (d == NULL)
        return failed(err);
    while ((errno = 0, e = readdir(d)) != NULL) {
        if (strncmp(e->d_name, prefix, strlen(prefix)) != 0)
            continue;
        if (!version_of(f, e->d_name, &version)) {
            rc = failed(err);
            break;
        }
        if (version != 0 && !fn(fn_ctx, e->d_name, version))    /* 0: it was removed meanwhile */
            break;
    }
    if (e == NULL && errno != 0)        /* a list that is short would hide records */
        rc = failed(err);
    closedir(d);
    return rc;
}

static const pawl_simple_methods folder_methods = { .name = "folder", .put = folder_put, .get = folder_get, .list = folder_list };

static bool folder_open(const char *path, folder *f)
{
    mkdir(path, 0700);
    f->dir = open(path, O_RDONLY | O_DIRECTORY);
    f->lock = f->dir < 0 ? -1 : openat(f->dir, ".lock", O_RDWR | O_CREAT, 0600);
    return f->lock >= 0;
}

/* ---- a run on it ------------------------------------------------------------------------------------ */

static pawl_code ask(pawl_step *s, void *arg)
{
    const pawl_value *receipt;
    pawl_code rc = pawl_call(s, "say", pawl_pack(s, "s", pawl_node_name(s)), &receipt);

    (void)arg;
    if (rc == PAWL_OK)
        pawl_set(s, "said", receipt);
    return rc == PAWL_OK ? pawl_follow(s) : rc;
}

static pawl_code say(const pawl_job *job, pawl_reply *reply, void *dies)
{
    const char *node = pawl_value_string(job->args);

    if (dies != NULL && strcmp(node, "review") == 0)
        raise(SIGKILL);                 /* in the middle of the second node */
    printf("%s\n", node);
    fflush(stdout);
    return pawl_reply_json(reply, "\"done\"");
}

static int drive(bool dies)
{
    pawl_err err = {0};
    folder f;
    pawl_graph *g = pawl_graph_new("paper", 1);
    pawl_engine *e;
    pawl_code rc;

    if (!folder_open("store", &f))
        return 1;
    pawl_graph_channel(g, "said", PAWL_RULE_APPEND);
    pawl_graph_node(g, "draft", ask, NULL);
    pawl_graph_node(g, "review", ask, NULL);
    pawl_graph_node(g, "print", ask, NULL);
    pawl_graph_chain(g, PAWL_START, "draft", "review", "print", PAWL_END, NULL);
    e = pawl_engine_new(pawl_graph_compile(g, &err), pawl_store_simple(&folder_methods, &f, NULL, &err), &err);
    pawl_engine_effect(e, "say", say, dies ? &f : NULL, PAWL_CLASS_AT_LEAST_ONCE, &err);
    rc = pawl_run(e, "paper-1", NULL, &err);
    puts(rc < 0 ? err.text : pawl_run_get(e, "paper-1", "said"));
    pawl_engine_free(e);
    close(f.lock);
    close(f.dir);
    return rc != PAWL_HALTED;
}

int main(void)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0)
        _exit(drive(true));
    waitpid(child, &status, 0);
    printf("the first process was %s\n", WIFSIGNALED(status) ? "killed" : "not killed");
    return drive(false);
}
