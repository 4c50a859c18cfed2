/* delivery.c - converts between events and deliveries. Pure; any thread. */
#include "engine/run/delivery.h"

#include <string.h>

typedef struct delivery_row {
    pawl_delivery_kind delivery;
    pawl_event_kind event;
    bool sent;                  /* an engine without the lease may deliver the event; only begin.c and child.c deliver START */
    bool by_name;               /* the delivery's name is the event's name, else the event's id */
} delivery_row;

static const delivery_row rows[] = {
    { PAWL_DELIVER_START, PAWL_EV_START, false, false },
    { PAWL_DELIVER_INPUT, PAWL_EV_INPUT, true, false },
    { PAWL_DELIVER_ANSWER, PAWL_EV_ANSWER, true, false },
    { PAWL_DELIVER_SIGNAL, PAWL_EV_SIGNAL, true, true },
    { PAWL_DELIVER_CANCEL, PAWL_EV_CANCEL, true, false },
    { PAWL_DELIVER_UPDATE, PAWL_EV_UPDATE, true, true },
    { PAWL_DELIVER_RECEIPT, PAWL_EV_RECEIPT, true, false },
    { PAWL_DELIVER_REOPEN, PAWL_EV_REOPEN, true, false },
};
enum { ROWS = sizeof rows / sizeof *rows };

bool delivery_from_event(const pawl_event *ev, pawl_delivery *out)
{
    *out = (pawl_delivery){ .outcome = (int)ev->outcome, .by = ev->by, .note = ev->note, .name = ev->name != NULL ? ev->name : ev->id };
    if (ev->value != NULL)
        out->value = (pawl_bytes){ ev->value, ev->value_size > 0 ? ev->value_size : strlen(ev->value) };
    if (ev->update != NULL)
        out->update = (pawl_bytes){ ev->update, strlen(ev->update) };
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].event == ev->kind && rows[i].sent) {
            out->kind = rows[i].delivery;
            return true;
        }
    return false;
}

pawl_event event_from_delivery(const pawl_delivery *d)
{
    const delivery_row *row = rows;

    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].delivery == d->kind)
            row = &rows[i];
    return (pawl_event){ .kind = row->event, .outcome = (pawl_outcome)d->outcome, .time_ms = d->at_ms, .id = row->by_name ? NULL : d->name,
                         .name = row->by_name ? d->name : NULL, .by = d->by, .note = d->note, .value = d->value.data, .value_size = d->value.size,
                         .update = d->update.data };
}
