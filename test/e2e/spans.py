#!/usr/bin/env python3
"""What a collector has got: spans.py FOLDER... compares them, and says what is wrong.

In each folder: a span that came twice came in the same bytes, with the same body around it; each has its parent, unless it is a root; ids are well formed.
Folders after the first have the same spans. Prints how many there are, and then a line for each: NAME KIND STATE RUN."""
import json
import os
import re
import sys

ID = re.compile(r'[0-9a-f]{16}$')
TRACE = re.compile(r'[0-9a-f]{32}$')


def spans_of(folder):
    bodies, found = set(), {}
    path = os.path.join(folder, 'bodies')
    lines = open(path, 'rb').read().split(b'\n') if os.path.exists(path) else []
    for line in lines:
        if not line or line in bodies:
            continue
        bodies.add(line)
        for span in json.loads(line)['resourceSpans'][0]['scopeSpans'][0]['spans']:
            if span['spanId'] in found:
                sys.exit(f'{folder}: {span["spanId"]} came in two bodies that differ: {span}')
            found[span['spanId']] = span
    for one in found.values():
        if not ID.match(one['spanId']) or not TRACE.match(one['traceId']) or int(one['startTimeUnixNano']) > int(one['endTimeUnixNano']):
            sys.exit(f'{folder}: malformed: {one}')
        parent = one.get('parentSpanId')
        if parent and parent not in found and attribute(one, 'pawl.kind') != 'stretch':
            sys.exit(f'{folder}: no parent {parent} of {one}')
        if parent in found and found[parent]['traceId'] != one['traceId']:
            sys.exit(f'{folder}: the parent is of another trace: {one}')
        for link in one.get('links', []):
            if link['spanId'] not in found and link['attributes'][0]['value']['stringValue'] == 'before':
                sys.exit(f'{folder}: the stretch before is missing: {one}')
    return found


def attribute(span, key):
    for one in span['attributes']:
        if one['key'] == key:
            return next(iter(one['value'].values()))
    return ''


def main():
    first, *rest = [spans_of(folder) for folder in sys.argv[1:]]
    for other, folder in zip(rest, sys.argv[2:]):
        missing, more = other.keys() - first.keys(), first.keys() - other.keys()
        differ = [key for key in first.keys() & other.keys() if first[key] != other[key]]
        if missing or more or differ:
            sys.exit(f'{sys.argv[1]} and {folder}: {len(missing)} missing, {len(more)} more, {len(differ)} differ: '
                     f'{[other[key] for key in missing][:2]} {[first[key] for key in more][:2]} {[(first[key], other[key]) for key in differ][:1]}')
    print(len(first))
    for one in sorted(f'{span["name"]} {attribute(span, "pawl.kind")} {attribute(span, "pawl.state")} {attribute(span, "pawl.run")}' for span in first.values()):
        print(one)


main()
