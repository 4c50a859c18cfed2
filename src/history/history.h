/* history.h - inside this folder: blobs and waits beside a journal (side_data.c), the check of a snapshot, the format of an export. */
#ifndef ENGINE_HISTORY_H
#define ENGINE_HISTORY_H

#include "pawl/history.h"
#include "store/store.h"

typedef struct blobs_of {       /* a loader for the blobs of one run */
    pawl_store *s;
    const char *run;
    buf bytes;
    pawl_loader loader;
} blobs_of;
void blobs_begin(blobs_of *b, pawl_store *s, const char *run);
void blobs_end(blobs_of *b);
/* The next blob reference in the text of a journal: "blob","DIGEST". Other text may look like one. */
bool blob_next(pawl_bytes text, size_t *at, char digest[HASH_HEX + 1]);
typedef struct blob_list { pawl_blob *all; size_t n, cap; } blob_list;
/* Those that the store has for the run, each once, in `mem`. */
pawl_code blobs_gather(pawl_store *s, const char *run, pawl_bytes text, arena *mem, blob_list *out, pawl_err *err);

/* Whether the stored snapshot matches its digest, and equals the state that the journal (beginning at base_seq) gives at its entry. PAWL_CORRUPT: it
 * does not, *seq is its entry (0: unknown). PAWL_OK if there is none. */
pawl_code snapshot_check(pawl_store *s, const char *run, pawl_bytes journal, uint64_t base_seq, uint64_t *seq, pawl_err *err);

/* The waits of a state, as a store has them beside the lines. */
typedef struct wait_list { pawl_waiting *all; size_t n, cap; } wait_list;
pawl_code waits_open(const pawl_state *st, arena *mem, wait_list *out);     /* PAWL_NOMEM */

/* ---- a run as JSON lines (docs/INTERFACES.md): what export.c writes and import.c reads ------------- */

enum { EXPORT_FORMAT = 1, DELIVERY_KINDS = PAWL_DELIVER_REOPEN };
#define EXPORT_BYTES_MAX ((size_t)1 << 31)      /* of one export */
#define UNDER_WAY "it is being imported: when that was broken off, import it again"      /* the reason why a run is parked during its import */
extern const char *const delivery_names[DELIVERY_KINDS + 1];

#endif
