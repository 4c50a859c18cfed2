/* sqlite_fault_test.c - every write, sync, read and allocation of SQLite fails once, in turn: each verb tells it, nothing that
 * was acknowledged is lost, and the same handle goes on. */
#include "store/counting.h"
#include "store/sqlite_file.h"

/* ---- what fails ------------------------------------------------------------------------------ */

typedef enum fault_kind { FAULT_WRITE, FAULT_SYNC, FAULT_READ, FAULT_FULL, FAULT_MEMORY, FAULTS } fault_kind;

static struct {
    fault_kind kind;
    uint64_t left;              /* until it strikes; 0: it does not */
    bool struck;
} fault;

static void fault_set(fault_kind kind, uint64_t after)
{
    fault.kind = kind;
    fault.left = after;
    fault.struck = false;
}

static bool strikes(fault_kind kind)
{
    if (fault.kind != kind || fault.left == 0 || --fault.left > 0)
        return false;
    return fault.struck = true;
}

/* ---- a file system in between ---------------------------------------------------------------- */

typedef struct between { sqlite3_file file, *real; } between;
static sqlite3_vfs *real_vfs;
static sqlite3_vfs between_vfs;

static sqlite3_file *real_of(sqlite3_file *f) { return ((between *)(void *)f)->real; }
#define REAL(call, ...) real_of(f)->pMethods->call(real_of(f), __VA_ARGS__)

static int f_close(sqlite3_file *f) { return real_of(f)->pMethods->xClose(real_of(f)); }
static int f_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
    return strikes(FAULT_READ) ? SQLITE_IOERR_READ : REAL(xRead, to, n, at);
}
static int f_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
    if (strikes(FAULT_FULL))
        return SQLITE_FULL;
    if (!strikes(FAULT_WRITE))
        return REAL(xWrite, from, n, at);
    REAL(xWrite, from, n / 2, at); /* torn */
    return SQLITE_IOERR_WRITE;
}
static int f_truncate(sqlite3_file *f, sqlite3_int64 n)
{
    return strikes(FAULT_WRITE) ? SQLITE_IOERR_TRUNCATE : REAL(xTruncate, n);
}
static int f_sync(sqlite3_file *f, int flags) { return strikes(FAULT_SYNC) ? SQLITE_IOERR_FSYNC : REAL(xSync, flags); }
static int f_size(sqlite3_file *f, sqlite3_int64 *n) { return REAL(xFileSize, n); }
static int f_lock(sqlite3_file *f, int level) { return REAL(xLock, level); }
static int f_unlock(sqlite3_file *f, int level) { return REAL(xUnlock, level); }
static int f_reserved(sqlite3_file *f, int *out) { return REAL(xCheckReservedLock, out); }
static int f_control(sqlite3_file *f, int op, void *arg) { return REAL(xFileControl, op, arg); }
static int f_sector(sqlite3_file *f) { return real_of(f)->pMethods->xSectorSize(real_of(f)); }
static int f_device(sqlite3_file *f) { return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f)); }
static int f_map(sqlite3_file *f, int page, int size, int extend, void volatile **p)
{
    return REAL(xShmMap, page, size, extend, p);
}
static int f_shm_lock(sqlite3_file *f, int at, int n, int flags) { return REAL(xShmLock, at, n, flags); }
static void f_barrier(sqlite3_file *f) { real_of(f)->pMethods->xShmBarrier(real_of(f)); }
static int f_unmap(sqlite3_file *f, int gone) { return REAL(xShmUnmap, gone); }

static const sqlite3_io_methods between_methods = {
    .iVersion = 2, .xClose = f_close, .xRead = f_read, .xWrite = f_write, .xTruncate = f_truncate, .xSync = f_sync,
    .xFileSize = f_size, .xLock = f_lock, .xUnlock = f_unlock, .xCheckReservedLock = f_reserved, .xFileControl = f_control,
    .xSectorSize = f_sector, .xDeviceCharacteristics = f_device, .xShmMap = f_map, .xShmLock = f_shm_lock,
    .xShmBarrier = f_barrier, .xShmUnmap = f_unmap,
};

static int between_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *f, int flags, int *out)
{
    between *b = (between *)(void *)f;
    int rc;

    (void)vfs;
    b->real = (sqlite3_file *)(void *)(b + 1);
    rc = real_vfs->xOpen(real_vfs, name, b->real, flags, out);
    b->file.pMethods = b->real->pMethods == NULL ? NULL : &between_methods;
    return rc;
}

static void between_begin(void)
{
    real_vfs = sqlite3_vfs_find(NULL);
    between_vfs = *real_vfs;
    between_vfs.zName = "between";
    between_vfs.pNext = NULL;
    between_vfs.szOsFile = (int)sizeof(between) + real_vfs->szOsFile;
    between_vfs.xOpen = between_open;
    sqlite3_vfs_register(&between_vfs, 1);
}

/* ---- memory in between ----------------------------------------------------------------------- */

static sqlite3_mem_methods real_memory;

static void *m_malloc(int n) { return strikes(FAULT_MEMORY) ? NULL : real_memory.xMalloc(n); }
static void *m_realloc(void *p, int n) { return strikes(FAULT_MEMORY) ? NULL : real_memory.xRealloc(p, n); }

static void memory_begin(void)
{
    sqlite3_mem_methods m;

    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory);
    m = real_memory;
    m.xMalloc = m_malloc;
    m.xRealloc = m_realloc;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &m);
}

/* ---- the scenario ---------------------------------------------------------------------------- */

enum { STEPS = 8 };
static uint64_t fence;

static pawl_code wait_put(pawl_store *s, pawl_err *err)
{
    pawl_bytes lines[2] = { bytes("[[\"ask\"]]"), bytes(entry(STEPS + 1, "[1]")) };
    pawl_waiting w = { .id = "1.a.1.0", .spec = bytes("{\"kind\":\"question\"}"), .asked_ms = 1 };
    pawl_blob blob = { "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", bytes("abc") };
    pawl_append a = { .run = "r", .fence = fence, .seq = STEPS, .lines = lines, .nlines = 2, .moves = true, .status = 2, .wake_ms = 9,
                      .waits = &w, .nwaits = 1, .snapshot = bytes("{}"), .blobs = &blob, .nblobs = 1 };
    pawl_code rc = s->verbs->append(s, &a, 1, err);

    return rc != PAWL_OK ? rc : a.rc;
}

static bool any_head(void *ctx, const pawl_head *h) { (void)h; ++*(int *)ctx; return true; }
static bool any_line(void *ctx, pawl_line_kind kind, uint64_t seq, pawl_bytes line) { (void)kind, (void)seq, (void)line; ++*(int *)ctx; return true; }

static pawl_code step(pawl_store *s, int i, pawl_err *err)
{
    pawl_delivery d = { .id = "d", .kind = PAWL_DELIVER_ANSWER, .name = "1.a.1.0", .value = bytes("4") };
    pawl_head h = { .fence = 0 };
    int n = 0;
    pawl_code rc;

    switch (i) {
    case 0: return s->verbs->create(s, bytes(base("r", ",\"labels\":[\"x\"]")), NULL, err);
    case 1:
        rc = claim_one(s, "r", "me", LONG_MS, &h, err);
        fence = h.fence;
        return rc;
    case STEPS + 2: return wait_put(s, err);
    case STEPS + 3: return s->verbs->deliver(s, "r", &d, err);
    case STEPS + 4: return s->verbs->list(s, NULL, any_head, &n, err);
    case STEPS + 5: return s->verbs->load(s, "r", any_line, &n, err);
    case STEPS + 6: return s->verbs->prune(s, "r", fence, 3, bytes(base("r", ",\"seq\":3")), err);
    case STEPS + 7: return release_one(s, "r", fence, err);
    case STEPS + 8: return s->verbs->vacuum(s, err);
    default: return entry_put(s, "r", fence, (uint64_t)i - 1, "[]", err);
    }
}

static void check_end(pawl_store *s, uint64_t n)
{
    pawl_err err = { PAWL_OK, "" };

    if (s->verbs->check(s, &err) != PAWL_OK)
        CHECK_FAIL("fault %d, call %llu: %s", fault.kind, (unsigned long long)n, err.text);
    CHECK_STR(loaded(s, "r", 0), text("base 3 {\"at\":10\nsnapshot %d {}\n", STEPS + 1));
    CHECK_STR(ranged(s, "r", STEPS - 1, 0), text("%d []\nrecord [[\"ask\"]]\n%d [1]\n", STEPS, STEPS + 1));
    CHECK_STR(listed(s, &(pawl_filter){ .label = "x", .status = 3, .waiting = true }), "r ");
    CHECK_STR(deliveries(s, "r"), "d ");
    CHECK_INT(head(s, "r").wake_ms, 9);
}

/* True: call `n` of that kind was made, and failed. */
static bool played(fault_kind kind, uint64_t n)
{
    pawl_code due = kind == FAULT_MEMORY ? PAWL_NOMEM : PAWL_IO;
    pawl_err err = { PAWL_OK, "" };
    pawl_store *s;
    bool struck;

    folder_empty();
    fault_set(kind, n);
    if ((s = pawl_store_sqlite(in_folder("a.pawl"), &(pawl_sqlite){ .normal = kind != FAULT_SYNC }, &err)) == NULL) {
        CHECK_INT(err.code, due);
        s = file_opened("a.pawl");
    }
    for (int i = 0; i <= STEPS + 8; i++) {
        pawl_code rc;

        err = (pawl_err){ PAWL_OK, "" };
        if ((rc = step(s, i, &err)) == PAWL_OK)
            continue;
        if (rc != due || err.code != due || !fault.struck || strstr(err.text, "a.pawl") == NULL)
            CHECK_FAIL("fault %d, call %llu, step %d: %s: %s", kind, (unsigned long long)n, i, pawl_code_name(rc), err.text);
        if ((rc = step(s, i, &err)) != PAWL_OK)
            CHECK_FAIL("fault %d, call %llu, step %d again: %s", kind, (unsigned long long)n, i, pawl_code_name(rc));
    }
    struck = fault.struck;
    fault.left = 0;
    check_end(s, n);
    pawl_store_free(s);
    s = file_opened("a.pawl");
    check_end(s, n);
    pawl_store_free(s);
    return struck;
}

/* ---- a run (S4) ------------------------------------------------------------------------------ */

/* Told of, and gone on with in the same process: what was performed is not performed again. */
static bool run_played(fault_kind kind, uint64_t n)
{
    pawl_code rc, due = kind == FAULT_MEMORY ? PAWL_NOMEM : PAWL_IO;
    pawl_err err = { PAWL_OK, "" };
    int counts[CALLS] = { 0 };
    pawl_verdict v;
    pawl_bytes journal;
    pawl_engine *e;
    bool struck;

    folder_empty();
    e = pawl_engine_new(counting(), pawl_store_sqlite(in_folder("a.pawl"), &(pawl_sqlite){ .normal = kind != FAULT_SYNC }, NULL), &err);
    CHECK_INT(pawl_engine_effect(e, "count", count_it, counts, PAWL_CLASS_ONCE, &err), PAWL_OK);
    fault_set(kind, n);
    for (int tries = 0; (rc = pawl_run(e, "r", NULL, &err)) != PAWL_HALTED; tries++) {
        if (rc != due || err.code != due || !fault.struck || tries > 3)
            CHECK_FAIL("fault %d, call %llu: %s: %s", kind, (unsigned long long)n, pawl_code_name(rc), err.text);
        err = (pawl_err){ PAWL_OK, "" };
    }
    struck = fault.struck;
    fault.left = 0;
    for (int i = 0; i < CALLS; i++)
        CHECK_INT(counts[i], 1);
    CHECK_STR(pawl_run_get(e, "r", "done"), "true");
    journal = pawl_store_journal(pawl_engine_store(e), "r", NULL);
    if (pawl_verify(pawl_engine_machine(e), journal, NULL, &v, &err) != PAWL_OK)
        CHECK_FAIL("fault %d, call %llu: %s", kind, (unsigned long long)n, err.text);
    free((void *)(uintptr_t)journal.data);
    CHECK_INT(pawl_engine_store(e)->verbs->check(pawl_engine_store(e), NULL), PAWL_OK);
    pawl_engine_free(e);
    return struck;
}

PAWL_TEST(test_S4_a_run_goes_on_when_the_cause_is_gone)
{
    static const fault_kind kinds[] = { FAULT_WRITE, FAULT_SYNC, FAULT_READ, FAULT_FULL };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (uint64_t n = 1; run_played(kinds[i], n);)
            n += check_run_all() ? 1 : 1 + check_rand_below(6);
}

static void march(fault_kind kind, uint64_t stride)
{
    uint64_t n = 1;

    while (played(kind, n))
        n += check_run_all() ? 1 : 1 + check_rand_below(stride);
    CHECK(n > 5);
}

PAWL_TEST(test_S4_every_write_fails_once_and_nothing_is_lost) { march(FAULT_WRITE, 12); }
PAWL_TEST(test_S4_every_sync_fails_once_and_nothing_is_lost) { march(FAULT_SYNC, 1); }
PAWL_TEST(test_S4_every_read_fails_once_and_nothing_is_lost) { march(FAULT_READ, 2); }
PAWL_TEST(test_S4_the_disk_is_full_once_and_nothing_is_lost) { march(FAULT_FULL, 12); }
PAWL_TEST(test_S4_every_allocation_fails_once_and_nothing_is_lost) { march(FAULT_MEMORY, 200); }

int main(int argc, char **argv)
{
    int code;

    memory_begin();
    between_begin();
    if (!folder_make()) {
        perror(folder);
        return 1;
    }
    code = check_main(argc, argv);
    folder_empty();
    rmdir(folder);
    return code;
}
