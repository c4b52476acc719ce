#!/usr/bin/env python3
"""Downloads many small files with `lanner get` and its peers, in turn, and prints files a second.

  small.py [--files N] [--size BYTES] [--pairs N] [--where memory|disk|both] [--disk DIR]

It needs nginx, curl and aria2c, and builds the release configuration first. Every file of every run is compared with what
the server has. The exit code is 0 when every figure is within its bound.
"""
import argparse, filecmp, os, statistics, subprocess, sys, tempfile, time

from get import Nginx, built, check, failed, random_file

AT_ONCE = 16
# How many times as many files a second as a peer.
BOUNDS = {"memory": {"aria2c": 1.0, "curl": 0.5}, "disk": {"aria2c": 2.0, "curl": 0.8}}


def lists(server, names, directory):
    """The list of all files in the words of each program."""
    texts = {
        "lanner": "".join(f"{server.url(name)}\n" for name in names),
        "curl": "".join(f'url = "{server.url(name)}"\noutput = "{name}"\n' for name in names),
        "aria2c": "".join(f"{server.url(name)}\n  out={name}\n" for name in names),
    }
    paths = {}
    for program, text in texts.items():
        paths[program] = os.path.join(directory, program + ".list")
        with open(paths[program], "w") as file:
            file.write(text)
    return paths


def commands(lanner, paths):
    return {
        "lanner": [lanner, "get", "-q", "-j", str(AT_ONCE), "-i", paths["lanner"]],
        "curl": ["curl", "-sS", "-Z", "--no-progress-meter", "--parallel-max", str(AT_ONCE), "-K", paths["curl"]],
        "aria2c": ["aria2c", "-q", f"-j{AT_ONCE}", "-i", paths["aria2c"]],
    }


def timed(command, directory):
    start = time.monotonic()
    subprocess.run(command, check=True, cwd=directory, stdout=subprocess.DEVNULL)
    return time.monotonic() - start


def fetched(run, command, names, source, place):
    """What a run of the command in a new directory gives, all files being right."""
    # Nothing is removed before the end: ext4 is slow to make files where it has just removed others.
    out = tempfile.mkdtemp(dir=place)
    # What an earlier run has left to be written is not this one's.
    os.sync()
    result = run(command, out)
    _, wrong, missing = filecmp.cmpfiles(source, out, names, shallow=False)
    if wrong or missing or len(os.listdir(out)) != len(names):
        raise SystemExit(f"{command[0]}: {len(wrong)} files are wrong, {len(missing)} are missing, {len(os.listdir(out))} are there")
    return result


def files(root, count, size):
    """Makes the files, and returns their names."""
    names = [f"file-{number:05}.bin" for number in range(count)]
    for number, name in enumerate(names):
        random_file(os.path.join(root, name), size, number)
    return names


def compare(label, place, bounds, run, options):
    figures = {program: [] for program in ["lanner", *bounds]}
    for number in range(options.pairs + 1):
        turn = {program: run(program, place) for program in figures}
        # The first warms up.
        if number == 0:
            continue
        print("     " + "   ".join(f"{program} {value:6.0f}" for program, value in turn.items()), flush=True)
        for program, value in turn.items():
            figures[program].append(value)
    medians = {program: statistics.median(values) for program, values in figures.items()}
    for peer, bound in bounds.items():
        ratio = medians["lanner"] / medians[peer]
        check(f"small, {label}: lanner {medians['lanner']:.0f} files/s, {peer} {medians[peer]:.0f}, ratio of medians",
              f"{ratio:.2f}", f"at least {bound}", ratio >= bound)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--size", type=int, default=10 << 10)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--where", choices=["memory", "disk", "both"], default="both")
    parser.add_argument("--disk", default=tempfile.gettempdir())
    options = parser.parse_args()
    lanner = built()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory, tempfile.TemporaryDirectory(dir=options.disk) as disk:
        server = Nginx(memory)
        names = files(server.root, options.files, options.size)
        all = commands(lanner, lists(server, names, memory))

        def run(program, place):
            return len(names) / fetched(timed, all[program], names, server.root, place)

        if options.where != "disk":
            compare("memory", memory, BOUNDS["memory"], run, options)
        if options.where != "memory":
            compare("disk", disk, BOUNDS["disk"], run, options)
        server.stop()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
