#!/usr/bin/env python3
"""Measures `lanner get` beside curl, aria2c and wget, in turn, and writes what Docs/Performance.md shows.

  peers.py [--only CASE…] [--rounds N] [--scale FACTOR] [--size MiB] [--disk DIR] [--results FILE]
                                      measures, into FILE, which keeps what it has of other cases; `scale` is for sizes
                                      and numbers of files, `size` for one file but not for growth
  peers.py --write [--results FILE]   measures nothing: writes tables and plots from FILE

Cases:
  large      one large file from plain nginx to the disk
  checksum   the same with its SHA-256, beside curl and sha256sum
  small      many small files, 16 at once, into memory and to the disk
  limited    a server that gives 5 MiB a second over each connection
  adaptive   what it costs to look for connections that bring nothing
  latency    80 ms away, with 1 MiB under way over each connection at most
  tls        one large file over TLS, which curl has over HTTP/2
  growth     files of several sizes, and several numbers of files
  profile    where the time of small files goes, by perf; one run, and only when it is asked for

It needs nginx, openssl, curl, aria2c, wget, unshare and a C compiler, and builds the release configuration first. Every
file of every run is compared with what the server has. The exit code is 0 when every figure is within its bound.
"""
import argparse, contextlib, filecmp, json, os, re, subprocess, sys, tempfile

import figures, small
from get import MIB, ROOT, Nginx, built, check, compiled, digest, failed, random_file

RESULTS = os.path.join(ROOT, "Tests", "Benchmarks", "results.json")
# Where Debian's libcurl looks for authorities.
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
CURL = ["curl", "-sS", "-o", "file"]
ARIA2C = ["aria2c", "-q", "-o", "file"]
SPLIT = [*ARIA2C, "-x8", "-s8", "-k1M"]
WGET = ["wget", "-q", "-O", "file"]
RELAY = os.path.join(ROOT, "Tests", "Benchmarks", "relay.py")


class Bench:
    def __init__(self, lanner, directory, options, keep):
        self.lanner = [lanner, "get", "-q"]
        self.directory, self.options, self.keep = directory, options, keep
        self.measure = compiled("measure.c", directory)
        # Nobody's settings, and no proxy.
        self.environment = {"PATH": os.environ["PATH"], "HOME": directory, "LC_ALL": "C.UTF-8"}

    def scaled(self, number):
        return max(1, round(number * self.options.scale))

    def size(self, mebibytes):
        return self.options.size or self.scaled(mebibytes)

    def get(self, *more):
        return [*self.lanner, "-o", "file", *more]

    @contextlib.contextmanager
    def server(self, **how):
        """nginx with its files in memory, and a place for other files there."""
        with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
            server = Nginx(memory, **how)
            try:
                yield server, memory
            finally:
                server.stop()

    def run(self, command, place, before=()):
        """What a command takes: seconds, those of the processor and of the kernel among them, MiB of memory, and changes
        of threads; what goes `before` it is not measured."""
        file = os.path.join(self.directory, "measured")
        result = subprocess.run([*before, self.measure, file, *command], cwd=place, env=self.environment,
                                stdout=subprocess.DEVNULL)
        if result.returncode:
            raise SystemExit(f"{' '.join(command)}: exit code {result.returncode}")
        with open(file) as measured:
            wall, cpu, kernel, peak, changes = map(float, measured.read().split())
        return {"wall": round(wall, 4), "cpu": round(cpu, 4), "kernel": round(kernel, 4), "peak": round(peak / 1024, 1),
                "changes": int(changes)}

    def perf(self, what, *words, place=None):
        """What perf says, of the one record that there is."""
        file = ["-o" if what == "record" else "-i", os.path.join(self.directory, "perf.data")]
        return subprocess.run(["perf", what, *file, *words], cwd=place, env=self.environment, check=True,
                              stdout=subprocess.PIPE, text=True).stdout

    def fetched(self, command, source, before=()):
        """The same for one file, which has to be right."""
        with tempfile.TemporaryDirectory(dir=self.options.disk) as out:
            # What an earlier run has left to be written is not this one's.
            os.sync()
            result = self.run(command, out, before)
            if os.listdir(out) != ["file"] or not filecmp.cmp(source, os.path.join(out, "file"), shallow=False):
                raise SystemExit(f"{command[0]}: the file is not right")
        return result

    def in_turn(self, name, size, count, programs, run):
        """Runs the programs in turn and keeps what it took, under a name."""
        print(f"{name}: {count:,} x {size >> 10:,} KiB", flush=True)
        runs = {program: [] for program in programs}
        for number in range(self.options.rounds + 1):
            for program, command in programs.items():
                took = run(command)
                print(f"     {number or 'warm'} {program}: {took['wall']:.2f} s, {took['cpu']:.2f} s of processor, "
                      f"{took['peak']:.0f} MiB", flush=True)
                # The first warms up.
                if number:
                    runs[program].append(took)
        self.keep(name, {"size": size, "files": count, "runs": runs})

    def one_file(self, name, mebibytes, server, programs, before=(), url=None):
        """Measures one file; the programs' commands are made from its URL and its digest."""
        size = mebibytes * MIB
        source = os.path.join(server.root, "file")
        random_file(source, size, 1)
        commands = programs(url or server.url("file"), digest(source) if name == "checksum" else None)
        self.in_turn(name, size, 1, commands, lambda command: self.fetched(command, source, before))

    def many_files(self, name, count, place, peers):
        with self.server() as (server, memory), tempfile.TemporaryDirectory(dir=place) as out:
            names = small.files(server.root, count, 10 << 10)
            commands = small.commands(self.lanner[0], small.lists(server, names, memory))
            commands["disk alone"] = [compiled("synced_copies.c", memory, "-lpthread"), server.root]
            self.in_turn(name, 10 << 10, count, {program: commands[program] for program in ["lanner", *peers]},
                         lambda command: small.fetched(self.run, command, names, server.root, out))


def large(bench):
    with bench.server() as (server, _):
        bench.one_file("large", bench.size(2048), server, lambda url, _: {
            "lanner": bench.get(url), "curl": [*CURL, url], "aria2c": [*ARIA2C, url], "wget": [*WGET, url]})


def checksum(bench):
    with bench.server() as (server, _):
        bench.one_file("checksum", bench.size(2048), server, lambda url, digest: {
            "lanner": bench.get("--checksum", f"sha256:{digest}", url),
            "curl, sha256sum": ["sh", "-c", f"curl -sS -o file {url} && sha256sum file"]})


def many(bench):
    for where, place in [("memory", "/dev/shm"), ("disk", bench.options.disk)]:
        peers = [*small.BOUNDS[where], *(["disk alone"] if where == "disk" else [])]
        bench.many_files(f"small {where}", bench.scaled(5000), place, peers)


def profile(bench):
    shares = {}
    for where, place in [("memory", "/dev/shm"), ("disk", bench.options.disk)]:
        with bench.server() as (server, memory), tempfile.TemporaryDirectory(dir=place) as out:
            names = small.files(server.root, bench.scaled(5000), 10 << 10)
            command = small.commands(bench.lanner[0], small.lists(server, names, memory))["lanner"]
            small.fetched(lambda command, place: bench.perf("record", "-q", "-F", "5000", *command, place=place),
                          command, names, server.root, out)
        shares[where] = small.shares(bench.perf("report", "--sort", "dso", "--stdio"))
        for owner, share in shares[where].items():
            print(f"     {where}: {share:4.1f} % {owner}")
    bench.keep("profile", {"shares": shares})


def limited(bench):
    with bench.server(rate="5m") as (server, _):
        bench.one_file("limited", bench.size(1024), server, lambda url, _: {
            "lanner -x 8": bench.get("-x", "8", url), "lanner -x 1": bench.get("-x", "1", url),
            "aria2c -x8": [*SPLIT, url]})


def adaptive(bench):
    with bench.server() as (server, _):
        bench.one_file("adaptive", bench.size(2048), server, lambda url, _: {
            f"lanner -x {number}": bench.get("-x", number, url) for number in ["4", "1"]})


def latency(bench):
    with bench.server() as (server, _):
        with subprocess.Popen([sys.executable, RELAY, str(server.port)], stdout=subprocess.PIPE, text=True) as relay:
            try:
                port = int(relay.stdout.readline())
                bench.one_file("latency", bench.size(400), server, lambda url, _: {
                    "lanner -x 8": bench.get("-x", "8", url), "lanner -x 1": bench.get("-x", "1", url),
                    "aria2c -x8": [*SPLIT, url], "curl": [*CURL, url]}, url=f"http://127.0.0.1:{port}/file")
            finally:
                relay.terminate()


def tls(bench):
    certificate, key = (os.path.join(bench.directory, name) for name in ["certificate.pem", "key.pem"])
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "1", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-out", certificate, "-keyout", key], check=True, stderr=subprocess.DEVNULL)
    # In a view of the file system of their own, the programs trust our certificate alone.
    trusting = ["unshare", "-m", *(["-r"] if os.geteuid() else []), "sh", "-c",
                f'mount --bind {certificate} {AUTHORITIES} && exec "$@"', "sh"]
    with bench.server(certificate=(certificate, key)) as (server, _):
        bench.one_file("tls", bench.size(1024), server, lambda url, _: {
            "lanner": bench.get(url), "curl": [*CURL, "--http2", url]}, trusting)
        with open(server.log) as log:
            if {line.split()[2] for line in log} != {"HTTP/1.1", "HTTP/2.0"}:
                raise SystemExit("tls: lanner is to speak HTTP/1.1, and curl HTTP/2")


def growth(bench):
    with bench.server() as (server, _):
        for size in [64, 256, 1024, 2048]:
            bench.one_file(f"growth {size} MiB", bench.scaled(size), server, lambda url, _: {
                "lanner": bench.get(url), "curl": [*CURL, url]})
    for count in [100, 1000, 5000, 20000]:
        bench.many_files(f"growth {count} files", bench.scaled(count), "/dev/shm", ["aria2c", "curl"])


CASES = {"large": large, "checksum": checksum, "small": many, "limited": limited, "adaptive": adaptive,
         "latency": latency, "tls": tls, "growth": growth, "profile": profile}
STANDARD = [name for name in CASES if name != "profile"]


def first_line(*command):
    return subprocess.run(command, capture_output=True, text=True).stdout.split("\n")[0]


def version(*command):
    output = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    return re.search(r"\d+(\.\d+)+", output).group()


def machine(disk):
    with open("/proc/cpuinfo") as file:
        processor = re.search(r"model name\s*: (.*)", file.read()).group(1)
    return {
        "processor": processor, "cores": os.cpu_count(),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / (1 << 30):.0f} GiB",
        "kernel": f"Linux {re.match('[0-9.]+', os.uname().release).group()}",
        "disk": first_line("stat", "-f", "-c", "%T", disk).replace("ext2/ext3", "ext4"),
        "nginx": version("nginx", "-v"), "curl": version("curl", "--version"), "aria2c": version("aria2c", "--version"),
        "wget": version("wget", "--version"), "swift": version("swift", "--version"),
    }


def loaded(path):
    if not os.path.exists(path):
        return {"machine": None, "cases": {}}
    with open(path) as file:
        return json.load(file)


def saved(path, results):
    with open(path + ".new", "w") as file:
        # A line for each run.
        text = json.dumps(results, indent=1)
        file.write(re.sub(r'\{[^{}]*"wall"[^{}]*\}', lambda run: " ".join(run.group().split()), text) + "\n")
    os.replace(path + ".new", path)


def measured(options):
    results, here = loaded(options.results), machine(options.disk)
    if results["machine"] not in (None, here):
        raise SystemExit(f"{options.results} is from another machine, or beside other versions: {results['machine']}")
    results["machine"] = here

    def keep(name, series):
        results["cases"][name] = series
        saved(options.results, results)

    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(built(), directory, options, keep)
        for name in options.only or STANDARD:
            CASES[name](bench)
    for name in options.only or STANDARD:
        for bound in figures.bounds(results["cases"], name):
            check(f"{bound.series}: {bound.text}", bound.figure, bound.bound, bound.holds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=CASES, metavar="CASE")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--size", type=int)
    parser.add_argument("--disk", default=tempfile.gettempdir())
    parser.add_argument("--results", default=RESULTS)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.write:
        figures.write(loaded(options.results))
    else:
        measured(options)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
