/* delivery.h - which event a delivery becomes, and the other way round: the one table for all who send or take deliveries (E16). */
#ifndef ENGINE_DELIVERY_H
#define ENGINE_DELIVERY_H

#include "pawl/kernel.h"
#include "store/store.h"

/* The delivery that brings an event to a run which another engine holds; false: such an event cannot be delivered. Its `id` is the caller's;
 * the rest is lent by the event. */
bool delivery_from_event(const pawl_event *ev, pawl_delivery *out);
pawl_event event_from_delivery(const pawl_delivery *d);        /* lent by the delivery */

#endif
