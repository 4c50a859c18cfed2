/* folder_errors_test.c - the store of examples/store_folder.c when the system fails: an error is an error, never "no record", a shorter list or success. */
#include "store/contract_inner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static bool opens_badly, reads_badly, syncs_badly;

static int bad_fsync(int fd)
{
    errno = EIO;
    return syncs_badly && lseek(fd, 0, SEEK_CUR) == 0 ? -1 : 0;         /* the file is at its end, the folder at its beginning */
}

static struct dirent *bad_readdir(DIR *d)
{
    errno = reads_badly ? EIO : errno;
    return reads_badly ? NULL : readdir(d);
}

static int bad_openat(int dir, const char *path, int flags, int mode)
{
    errno = EMFILE;
    return opens_badly && *path == 'k' ? -1 : openat(dir, path, flags, mode);
}

#define OPENAT(dir, path, flags, mode, ...) bad_openat(dir, path, flags, mode)
#define openat(...) OPENAT(__VA_ARGS__, 0, 0)
#define fsync bad_fsync
#define readdir bad_readdir
#define main store_folder_main
#include "../../examples/store_folder.c"
#undef main
#undef readdir
#undef fsync
#undef openat

static char path[200];

static bool any_key(void *ctx, const char *key, uint64_t version) { (void)ctx, (void)key, (void)version; return true; }

PAWL_TEST(test_S3_errors_of_the_folder_are_errors)
{
    pawl_err err = { PAWL_OK, "" };
    const char *temp = getenv("TMPDIR");
    int status = 0;
    folder f;
    pid_t child;

    snprintf(path, sizeof path, "%.150s/pawl-folder-XXXXXX", temp != NULL ? temp : "/tmp");
    CHECK(mkdtemp(path) != NULL && folder_open(path, &f));
    CHECK_INT(folder_put(&f, "key", 0, 1, bytes("one"), &err), PAWL_OK);
    opens_badly = true;
    CHECK_INT(folder_put(&f, "key", 0, 2, bytes("two"), &err), PAWL_IO);
    CHECK_INT(folder_put(&f, "key", 1, 2, bytes("two"), &err), PAWL_IO);        /* no conflict: nobody knows */
    opens_badly = false;
    reads_badly = true;
    CHECK_INT(folder_list(&f, "k", any_key, NULL, &err), PAWL_IO);
    reads_badly = false;
    CHECK_INT(folder_list(&f, "k", any_key, NULL, &err), PAWL_OK);
    syncs_badly = true;
    fflush(NULL);
    if ((child = fork()) == 0) {
        close(2);
        (void)folder_put(&f, "key", 1, 2, bytes("two"), &err);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));          /* it never returns */
    syncs_badly = false;
    CHECK_INT(unlinkat(f.dir, "key", 0), 0);
    CHECK_INT(unlinkat(f.dir, ".lock", 0), 0);
    close(f.lock);
    close(f.dir);
    CHECK_INT(rmdir(path), 0);
}

int main(int argc, char **argv) { return check_main(argc, argv); }
