#!/usr/bin/env python3
"""Passes TCP connections on to a port of this machine as if it were far away, and prints the port it listens on.

  relay.py PORT [--delay MILLISECONDS] [--window BYTES]

Each piece that is read on one side is written to the other half the delay later. It counts against the window of its
direction of its connection until the other half has passed as well, as if its receipt had to be told first; while the
window is full, nothing more is read. So a connection brings at most a window in each delay: 1 MiB in 80 ms is 12.5 MiB
a second. A new connection waits for the delay once more, as for a handshake. What all connections bring together is
bounded by the processor alone.
"""
import argparse, asyncio, signal

PIECE = 256 << 10


class Window:
    """How many bytes may be under way."""

    def __init__(self, size):
        self.free = size
        self.changed = asyncio.Event()

    async def room(self):
        while not self.free:
            self.changed.clear()
            await self.changed.wait()
        return self.free

    def take(self, count):
        self.free -= count

    def give(self, count):
        self.free += count
        self.changed.set()


async def read(reader, pieces, window, half):
    """Puts pieces with the time they are due at, and an empty one at the end."""
    loop = asyncio.get_running_loop()
    piece = True
    try:
        while piece:
            piece = await reader.read(min(PIECE, await window.room()))
            window.take(len(piece))
            pieces.put_nowait((loop.time() + half, piece))
    except ConnectionError:
        pieces.put_nowait((loop.time() + half, b""))


async def write(writer, pieces, window, half):
    loop = asyncio.get_running_loop()
    while True:
        due, piece = await pieces.get()
        await asyncio.sleep(due - loop.time())
        if not piece:
            return
        writer.write(piece)
        await writer.drain()
        loop.call_later(half, window.give, len(piece))


async def one_way(reader, writer, options):
    pieces, window = asyncio.Queue(), Window(options.window)
    half = options.delay / 2000
    reading = asyncio.create_task(read(reader, pieces, window, half))
    try:
        await write(writer, pieces, window, half)
    except ConnectionError:
        pass
    finally:
        reading.cancel()


async def passed_on(reader, writer, options):
    await asyncio.sleep(options.delay / 1000)
    try:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", options.port, limit=PIECE)
        for side in (writer, far_writer):
            side.transport.set_write_buffer_limits(PIECE)
        ways = [asyncio.create_task(one_way(reader, far_writer, options)),
                asyncio.create_task(one_way(far_reader, writer, options))]
        # Neither clients nor nginx close one half: who ends one way ends both.
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        far_writer.close()
    finally:
        writer.close()


async def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", type=int)
    parser.add_argument("--delay", type=float, default=80)
    parser.add_argument("--window", type=int, default=1 << 20)
    options = parser.parse_args()
    server = await asyncio.start_server(lambda *sides: passed_on(*sides, options), "127.0.0.1", 0, limit=PIECE)
    print(server.sockets[0].getsockname()[1], flush=True)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, server.close)
    try:
        await server.serve_forever()
    except asyncio.CancelledError:
        pass


if __name__ == "__main__":
    asyncio.run(main())
