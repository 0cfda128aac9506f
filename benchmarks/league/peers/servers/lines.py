"""Requests as lines of JSON on standard input, answers on standard output. Nothing but the standard library is used."""

import json
import os
import sys
import traceback


def serve(make):
    """Answer requests until standard input ends.

    make: called with the request `open`; returns the peer's version and an object with `observe(points, losses)` and
    `suggest(count)`.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints must not mix with the answers
    peer = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["do"] == "open":
                version, peer = make(request)
                answer = {"version": version}
            elif request["do"] == "observe":
                peer.observe(request["points"], request["losses"])
                answer = {}
            else:
                answer = {"points": peer.suggest(request["count"])}
        except Exception as error:  # told to the other side, which ends the cell
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)
