#!/usr/bin/env python3
"""Checks a text of Prometheus (format 0.0.4) strictly, and prints it in a plain form: NAME{LABELS} VALUE, sorted.

Stricter than the format: each family has HELP and TYPE before its lines, and its lines stand together; no series stands twice; names of counters end in
_total; histograms have ascending buckets up to +Inf, of counts that do not fall, a sum, and a count that is the last of them."""
import math
import re
import sys

NAME = re.compile(r'[a-zA-Z_:][a-zA-Z0-9_:]*')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|\})')
VALUE = re.compile(r'-?(\d+)(\.\d+)?(e[+-]?\d+)?$|\+Inf$|-Inf$|NaN$')


def fail(number, line, why):
    sys.exit(f'line {number}: {why}: {line}')


def sample(number, line):
    name = NAME.match(line)
    if not name:
        fail(number, line, 'no name')
    at, labels = name.end(), []
    if line[at:at + 1] == '{':
        at += 1
        while True:
            label = LABEL.match(line, at)
            if not label:
                fail(number, line, 'a label is wrong')
            labels.append((label[1], label[2]))
            at = label.end()
            if label[3] == '}':
                break
    if line[at:at + 1] != ' ' or not VALUE.match(line[at + 1:]):
        fail(number, line, 'no value')
    if len({key for key, _ in labels}) != len(labels):
        fail(number, line, 'a label stands twice')
    return name[0], tuple(labels), float(line[at + 1:].replace('Inf', 'inf'))


def histogram(name, rows):
    groups = {}
    for part, labels, value in rows:
        groups.setdefault(tuple(one for one in labels if one[0] != 'le'), []).append((part, dict(labels).get('le'), value))
    for labels, group in groups.items():
        buckets = [(math.inf if le == '+Inf' else float(le), value) for part, le, value in group if part == name + '_bucket']
        if not buckets or buckets[-1][0] != math.inf or sorted(set(buckets)) != buckets or any(a[1] > b[1] for a, b in zip(buckets, buckets[1:])):
            sys.exit(f'{name}{labels}: its buckets are wrong: {buckets}')
        if [part for part, le, _ in group if le is None] != [name + '_sum', name + '_count'] or group[-1][2] != buckets[-1][1]:
            sys.exit(f'{name}{labels}: its sum or count is wrong')


def main():
    text = sys.stdin.read()
    if not text.endswith('\n') or '\r' in text:
        sys.exit('the text does not end with a newline, or has another one')
    families, series, current, helped, out = {}, set(), None, None, []
    for number, line in enumerate(text[:-1].split('\n'), 1):
        if line.startswith('# HELP '):
            helped = line.split(' ', 3)[2]
            if len(line.split(' ', 3)) < 4 or helped in families:
                fail(number, line, 'no help, or a family twice')
        elif line.startswith('# TYPE '):
            _, _, name, kind = line.split(' ')
            if name != helped or kind not in ('counter', 'gauge', 'histogram') or (kind == 'counter') != name.endswith('_total'):
                fail(number, line, 'a type is wrong')
            current = name
            families[name] = (kind, [])
        else:
            name, labels, value = sample(number, line)
            kind, rows = families.get(current, (None, None))
            ends = ('_bucket', '_sum', '_count') if kind == 'histogram' else ('',)
            if kind is None or name not in [current + end for end in ends]:
                fail(number, line, 'of another family')
            if (name, frozenset(labels)) in series:
                fail(number, line, 'a series stands twice')
            if kind != 'gauge' and not value >= 0:
                fail(number, line, 'below 0')
            series.add((name, frozenset(labels)))
            rows.append((name, labels, value))
            out.append(line)
    for name, (kind, rows) in families.items():
        if not rows:
            sys.exit(f'{name}: no line')
        if kind == 'histogram':
            histogram(name, rows)
    print('\n'.join(sorted(out)))


main()
