/* delivery.h - converts between events and deliveries, with one table for senders and receivers (E16). Pure; any thread. */
#ifndef ENGINE_DELIVERY_H
#define ENGINE_DELIVERY_H

#include "pawl/kernel.h"
#include "store/store.h"

/* The delivery of an event to a run whose lease another engine has; false: such an event cannot be delivered. The caller sets `id`; the other members
 * point into the event. */
bool delivery_from_event(const pawl_event *ev, pawl_delivery *out);
pawl_event event_from_delivery(const pawl_delivery *d);        /* points into the delivery */

#endif
