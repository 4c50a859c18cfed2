#!/usr/bin/env python3
"""A collector of OTLP/HTTP in JSON, for tests: collector.py FOLDER. Its port is in FOLDER/port.

Each body that it takes is a line of FOLDER/bodies, on the disk before it answers. FOLDER/answers has what it answers next, a line each: a status, and the
value of Retry-After if there is one; 0 hangs up after the body was taken. Without lines it answers 200. A GET is a line of FOLDER/asked: its path and its
traceparent."""
import http.server
import json
import os
import sys


class Collector(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        with open(os.path.join(folder, 'asked'), 'a') as f:
            f.write(f'{self.path} {self.headers.get("traceparent", "-")}\n')
        self.send_response(200)
        self.send_header('Content-Length', '2')
        self.end_headers()
        self.wfile.write(b'{}')

    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        words = next_answer()
        if self.path != '/v1/traces' or self.headers['Content-Type'] != 'application/json':
            words = ['404']
        if words[0] in ('200', '0'):
            json.loads(body)
            with open(os.path.join(folder, 'bodies'), 'ab') as f:
                f.write(body + b'\n')
        with open(os.path.join(folder, 'requests'), 'a') as f:
            f.write(f'{words[0]} {self.headers.get("X-Key", "-")}\n')
        if words[0] == '0':
            self.close_connection = True
            return
        self.send_response(int(words[0]))
        if len(words) > 1:
            self.send_header('Retry-After', words[1])
        self.send_header('Content-Length', '2')
        self.end_headers()
        self.wfile.write(b'{}')

    def log_message(self, *args):
        pass


def next_answer():
    try:
        with open(os.path.join(folder, 'answers')) as f:
            first, *rest = f.readlines()
    except (OSError, ValueError):
        return ['200']
    with open(os.path.join(folder, 'answers'), 'w') as f:
        f.writelines(rest)
    return first.split()


folder = sys.argv[1]
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Collector)
with open(os.path.join(folder, 'port.new'), 'w') as f:
    f.write(str(server.server_port))
os.rename(os.path.join(folder, 'port.new'), os.path.join(folder, 'port'))
server.serve_forever()
