"""Many small files, for peers.py: making them, the commands that download them, and a run that proves them right."""
import filecmp, os, re, tempfile

from get import random_file

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


# Whose code it is, by the name of the file that perf found it in.
OWNERS = {
    "kernel": "the kernel", "lanner": "lanner's own code", "libdispatch": "Dispatch", "libswiftDispatch": "Dispatch",
    "libswift": "the Swift runtime", "oundation": "Foundation", "libcurl": "libcurl", "libc.": "the C library",
    "ld-": "the C library",
}


def shares(report):
    """Percents by owner, the largest first, of what `perf report --sort dso` says."""
    sums = {}
    for share, name in re.findall(r"^ *([0-9.]+)%\s+(\S+)", report, flags=re.M):
        # In brackets: the kernel, its modules, and what it lends to programs.
        other = "the kernel" if name.startswith("[") else "other libraries"
        owner = next((owner for mark, owner in OWNERS.items() if mark in name), other)
        sums[owner] = sums.get(owner, 0) + float(share)
    return dict(sorted(((owner, round(share, 1)) for owner, share in sums.items()), key=lambda pair: -pair[1]))
