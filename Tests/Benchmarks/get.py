#!/usr/bin/env python3
"""Runs `lanner get` against real servers and prints what it did.

  get.py kill     [--size MiB] [--kills N]   SIGKILL at random moments; the file, and what the server sent in all
  get.py replace                             the file on the server changes while a part is held
  get.py memory   [--size MiB]               peak memory, with a fast disk and with a slow one
  get.py fifty                               the same for 50 files at once, with a slow disk
  get.py writes   [--size MiB] [--pairs N]   seconds to write a file in pieces of several sizes, in turn

It needs nginx and a C compiler, and builds the release configuration first. The exit code is 0 when every figure
is within its bound.
"""
import argparse, hashlib, http.server, os, random, re, shutil, signal, socket, statistics, subprocess
import sys, tempfile, threading, time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MIB = 1 << 20
failed = []


def check(name, figure, bound, holds):
    print(f"{'ok  ' if holds else 'FAIL'} {name}: {figure} (bound: {bound})", flush=True)
    if not holds:
        failed.append(name)


def built():
    subprocess.run(["swift", "build", "-c", "release", "--product", "lanner"], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    where = subprocess.run(["swift", "build", "-c", "release", "--show-bin-path"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.strip()
    return os.path.join(where, "lanner")


def compiled(name, directory, *options):
    target = os.path.join(directory, os.path.splitext(name)[0])
    subprocess.run(["cc", "-O2", "-o", target, os.path.join(ROOT, "Tests", "Benchmarks", name), *options], check=True)
    return target


def random_file(path, size, seed):
    generator = random.Random(seed)
    with open(path, "wb") as file:
        for _ in range(size // MIB):
            file.write(generator.randbytes(MIB))
        file.write(generator.randbytes(size % MIB))


def digest(path):
    value = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(MIB):
            value.update(piece)
    return value.hexdigest()


class Nginx:
    """nginx on a free port, with an access log of the bytes it sent; with a certificate and its key, TLS and HTTP/2."""

    def __init__(self, directory, rate=None, certificate=None):
        self.scheme = "https" if certificate else "http"
        self.root = os.path.join(directory, "www")
        self.log = os.path.join(directory, "access.log")
        os.makedirs(self.root, exist_ok=True)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        tls = f"ssl_certificate {certificate[0]}; ssl_certificate_key {certificate[1]};" if certificate else ""
        config = os.path.join(directory, "nginx.conf")
        with open(config, "w") as file:
            file.write(f"""
            daemon off; worker_processes 1; pid {directory}/pid; error_log {directory}/error.log;
            {'user root;' if os.geteuid() == 0 else ''}
            events {{ worker_connections 256; }}
            http {{
              log_format sent '$status $body_bytes_sent $server_protocol $http_range';
              access_log {self.log} sent; sendfile on; keepalive_requests 1000000;
              server {{
                listen 127.0.0.1:{self.port} {'ssl http2' if certificate else ''}; {tls}
                root {self.root}; {f'limit_rate {rate};' if rate else ''}
              }}
            }}""")
        self.process = subprocess.Popen(["nginx", "-c", config])
        for _ in range(500):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.01)
        raise SystemExit("nginx did not start")

    def url(self, name):
        return f"{self.scheme}://127.0.0.1:{self.port}/{name}"

    def stop(self):
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()

    def sent(self):
        with open(self.log) as file:
            return sum(int(line.split()[1]) for line in file)


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **more)


def kill(lanner, options):
    size, kills = options.size * MIB, options.kills
    with tempfile.TemporaryDirectory() as directory:
        server = Nginx(directory, rate="60m")
        source = os.path.join(server.root, "file")
        random_file(source, size, 1)
        expected = digest(source)
        target = os.path.join(directory, "out", "file")
        command = [lanner, "get", "-q", "-o", target, "--checksum", f"sha256:{expected}", server.url("file")]
        moments = random.Random(options.seed)
        print(f"seed {options.seed}")
        killed = 0
        while killed < kills:
            process = subprocess.Popen(command)
            try:
                process.wait(moments.uniform(0.02, 2 * size / (60 * MIB) / kills))
                break
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                killed += 1
        code = 0 if os.path.exists(target) else run(command).returncode
        server.stop()
        check("kill: ended with", f"code {code} after {killed} kills", "0", code == 0)
        check("kill: the file is right", digest(target) == expected, True, digest(target) == expected)
        over = server.sent() - size
        check("kill: sent beyond the size", f"{over / MIB:.1f} MiB, {over / MIB / max(1, killed):.1f} a kill",
              f"{16 * killed} MiB", over <= 16 * MIB * killed)
        left = os.path.exists(os.path.join(directory, "out", ".lanner"))
        check("kill: nothing is left beside the file", not left, True, not left)


class Plain(http.server.SimpleHTTPRequestHandler):
    """Python's server: no ranges, HTTP/1.0."""

    def log_message(self, *_):
        pass

    def copyfile(self, source, output):
        # Slow enough to be stopped in the middle.
        while piece := source.read(MIB):
            output.write(piece)
            time.sleep(0.02)


class Lying(Plain):
    """Answers every range with a 206 of other bytes than it says."""

    def do_GET(self):
        asked = re.match(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        path = self.translate_path(self.path)
        size = os.path.getsize(path)
        if not asked or asked.group(1) == "0":
            return super().do_GET()
        first, last = int(asked.group(1)), min(int(asked.group(2) or size - 1), size - 1)
        wrong = max(0, first - 1000)
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {wrong}-{wrong + last - first}/{size}")
        self.send_header("Content-Length", str(last - first + 1))
        self.end_headers()
        with open(path, "rb") as file:
            file.seek(wrong)
            self.wfile.write(file.read(last - first + 1))


class Handled:
    """A server of Python's in this process."""

    def __init__(self, directory, handler):
        self.root = os.path.join(directory, "www")
        os.makedirs(self.root, exist_ok=True)
        self.server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), lambda *rest: handler(*rest, directory=self.root))
        # A client that is killed resets its connection.
        self.server.handle_error = lambda *_: None
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, name):
        return f"http://127.0.0.1:{self.server.server_address[1]}/{name}"

    def stop(self):
        self.server.shutdown()


def interrupted(command, target):
    """Runs the command until a part is on the disk, then interrupts it."""
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    parts = os.path.join(os.path.dirname(target), ".lanner", "Tmp")
    for _ in range(2000):
        names = [name for name in os.listdir(parts) if name.endswith(".part")] if os.path.isdir(parts) else []
        # Blocks in use: the size is set aside in advance.
        if any(os.stat(os.path.join(parts, name)).st_size >= 2 * MIB for name in names):
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    return process.wait()


def replace(lanner, options):
    for label, make, change in [
        ("nginx, new size", lambda d: Nginx(d, rate="20m"), 7 * MIB),
        ("nginx, same size", lambda d: Nginx(d, rate="20m"), 0),
        ("Python's http.server, new size", lambda d: Handled(d, Plain), 7 * MIB),
        ("Python's http.server, same size", lambda d: Handled(d, Plain), 0),
        ("a server of wrong 206 answers, new size", lambda d: Handled(d, Lying), 7 * MIB),
        ("a server of wrong 206 answers, same file", lambda d: Handled(d, Lying), None),
    ]:
        with tempfile.TemporaryDirectory() as directory:
            server = make(directory)
            source = os.path.join(server.root, "file")
            random_file(source, 40 * MIB, 1)
            os.utime(source, (1_600_000_000, 1_600_000_000))
            target = os.path.join(directory, "out", "file")
            command = [lanner, "get", "-q", "-o", target, server.url("file")]
            code = interrupted(command, target)
            check(f"replace, {label}: interrupted with", f"code {code}", 130, code == 130)
            if change is not None:
                random_file(source + ".new", 40 * MIB + change, 2)
                os.utime(source + ".new", (1_600_009_000, 1_600_009_000))
                os.replace(source + ".new", source)
            result = run(command)
            right = result.returncode == 0 and digest(target) == digest(source)
            check(f"replace, {label}: exactly the new file", right, f"True {result.stderr.strip()}", right)
            server.stop()


def peak(command, environment=None):
    """Peak memory in MiB, the exit code, and seconds."""
    start = time.monotonic()
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    took = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss / 1024, process.returncode, took


# MiB a second of a slow disk.
SLOW_RATE = 100


def on_slow_disk(directory):
    """The environment of a program whose disk is slow."""
    shim = compiled("slow_write.c", directory, "-shared", "-fPIC", "-ldl")
    return dict(os.environ, LD_PRELOAD=shim, SLOW_WRITE_BYTES_PER_SECOND=str(SLOW_RATE * MIB))


def slow_seconds(mebibytes):
    """What writing so much takes there at least: less, and the disk was not slow."""
    return 0.9 * mebibytes / SLOW_RATE


def memory(lanner, options):
    with tempfile.TemporaryDirectory() as directory:
        slow = on_slow_disk(directory)
        for label, make in [("nginx", Nginx), ("a server without ranges", lambda d: Handled(d, Fast))]:
            server = make(directory)
            random_file(os.path.join(server.root, "file"), options.size * MIB, 1)
            for disk, environment, least in [("disk as it is", None, 0),
                                             (f"disk of {SLOW_RATE} MiB/s", slow, slow_seconds(options.size))]:
                target = os.path.join(directory, "out", "file")
                figure, code, took = peak([lanner, "get", "-q", "-o", target, server.url("file")], environment)
                check(f"memory, {label}, {disk}", f"{figure:.0f} MiB, code {code}, {took:.1f} s",
                      f"100 MiB, 0, at least {least:.1f} s", figure < 100 and code == 0 and took >= least)
                os.remove(target)
            server.stop()


def held(number, connections):
    """MiB that may be held of the download of this number: on its way to the disk up to where its transport is held back,
    which is sooner where seven others have much there, and a chunk (WriteLoad.swift); for each connection a chunk in the sink,
    what may wait in the transport (Mailbox.swift), and the pieces of memory that are being filled, libcurl's own included
    (Slab.swift)."""
    return (8 if number <= 7 else 2) + 1 + connections * (1 + 2 + 3 * 0.5)


def fifty(lanner, options):
    count, size = 50, 64
    with tempfile.TemporaryDirectory() as directory:
        slow, least = on_slow_disk(directory), slow_seconds(count * size)
        server = Nginx(directory)
        random_file(os.path.join(server.root, "file"), size * MIB, 1)
        listed = os.path.join(directory, "list")
        with open(listed, "w") as file:
            file.write("".join(f"{server.url('file')}?{number}\n  out=file-{number}\n" for number in range(count)))
        for connections in [1, 4]:
            out = os.path.join(directory, "out")
            command = [lanner, "get", "-q", "-x", str(connections), "-j", str(count), "-d", out, "-i", listed]
            figure, code, took = peak(command, slow)
            # The first is what one download may need in all (`memory`).
            bound = 100 + sum(held(number, connections) for number in range(2, count + 1))
            check(f"memory, {count} files of {size} MiB at once, -x {connections}, disk of {SLOW_RATE} MiB/s",
                  f"{figure:.0f} MiB, code {code}, {took:.0f} s", f"{bound:.0f} MiB, 0, at least {least:.0f} s",
                  figure < bound and code == 0 and took >= least)
            shutil.rmtree(out)
        server.stop()


class Fast(Plain):
    """No ranges, as fast as it goes."""

    def copyfile(self, source, output):
        shutil.copyfileobj(source, output, MIB)


def writes(_, options):
    sizes = [16 << 10, 64 << 10, 1 << 20]
    with tempfile.TemporaryDirectory() as directory:
        program = compiled("write_sizes.c", directory)
        target = os.path.join(directory, "file")
        # Twice in a row: where memory was taken for pieces of another size before, and where it was not.
        figures = {(size, again): [] for size in sizes for again in (False, True)}
        for _ in range(options.pairs):
            for size, again in figures:
                command = [program, target, str(options.size), str(size)]
                figures[size, again].append(float(subprocess.run(command, capture_output=True, check=True).stdout))
                os.remove(target)
        for (size, again), values in figures.items():
            print(f"     {size >> 10:5} KiB, {'again' if again else 'first'}: median {statistics.median(values):.2f} s of "
                  f"{' '.join(f'{value:.2f}' for value in values)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["kill", "replace", "memory", "fifty", "writes"])
    parser.add_argument("--size", type=int)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    if options.size is None:
        options.size = 1024 if options.what == "kill" else 2048
    lanner = None if options.what == "writes" else built()
    {"kill": kill, "replace": replace, "memory": memory, "fifty": fifty, "writes": writes}[options.what](lanner, options)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
