"""Serve a GGUF on loopback with llama.cpp's own server, which `xllamacpp` brings as a wheel."""

from __future__ import annotations

import argparse
import signal

import xllamacpp


def main() -> None:
    """Start the server and keep it until a signal ends the process."""
    parser = argparse.ArgumentParser(description="Serve a GGUF with llama.cpp.")
    parser.add_argument("gguf")
    parser.add_argument("--alias", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--ctx-size", type=int, required=True)
    parser.add_argument("--slots", type=int, required=True)
    arguments = parser.parse_args()
    parameters = xllamacpp.CommonParams()
    parameters.model.path = arguments.gguf
    parameters.model_alias = {arguments.alias}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = arguments.port
    parameters.n_ctx = arguments.ctx_size
    parameters.n_parallel = arguments.slots
    parameters.kv_unified = True
    parameters.cpuparams.n_threads = 2
    parameters.endpoint_metrics = parameters.endpoint_slots = parameters.endpoint_props = True
    parameters.offline = True
    parameters.ui = False
    server = xllamacpp.Server(parameters)
    while server.listening_address:
        signal.pause()


if __name__ == "__main__":
    main()
