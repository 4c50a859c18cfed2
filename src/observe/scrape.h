/* scrape.h - the numbers of a store as text of Prometheus: what is now, from the heads of its runs, and what was, from their journals.
 *
 * A journal is read once, and not for each scrape: what was made of it is in the cursor file. One thread uses a scraper. */
#ifndef OBSERVE_SCRAPE_H
#define OBSERVE_SCRAPE_H

#include "observe/journals.h"
#include "telemetry/metrics.h"

typedef struct scraper scraper;

/* `store` (of counted_store) is lent. A store without a file keeps no counters: then there are gauges alone. NULL: see err. */
scraper *scraper_new(pawl_store *store, pawl_err *err);
void scraper_free(scraper *s);                  /* NULL: nothing */
/* Reads what is new, for about a second at most. *more: something is left; scrape_more() again. */
pawl_code scrape_more(scraper *s, bool *more, pawl_err *err);
/* Writes all numbers. What cannot be read is left out, and pawl_scrape_errors_total says so. */
void scrape_write(scraper *s, metric_text *t);

#endif
