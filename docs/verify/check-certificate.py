#!/usr/bin/env python3
"""Checks the certificate of a count. It needs Python 3 and nothing else, and knows nothing of keima's code.

    python3 check-certificate.py RESULT.json

RESULT.json is what `keima count --json` prints, or a certificate alone. The format is docs/reference/certificate.md.
Exit code: 0 all checks hold, 3 a check failed, 2 the file holds no certificate.
"""

import json
import sys

# --- BLAKE3, from its specification: 1024-byte chunks in a binary tree, hash mode only ---------------------------------

IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
ORDER = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
CHUNK_START, CHUNK_END, PARENT, ROOT = 1, 2, 4, 8
MIXES = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
         (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))


def compress(chain, words, counter, length, flags):
    v = list(chain) + list(IV[:4]) + [counter & 0xFFFFFFFF, counter >> 32, length, flags]
    for step in range(7):
        for number, (a, b, c, d) in enumerate(MIXES):
            va, vb, vc, vd = v[a], v[b], v[c], v[d]
            va = (va + vb + words[2 * number]) & 0xFFFFFFFF
            vd ^= va
            vd = (vd >> 16 | vd << 16) & 0xFFFFFFFF
            vc = (vc + vd) & 0xFFFFFFFF
            vb ^= vc
            vb = (vb >> 12 | vb << 20) & 0xFFFFFFFF
            va = (va + vb + words[2 * number + 1]) & 0xFFFFFFFF
            vd ^= va
            vd = (vd >> 8 | vd << 24) & 0xFFFFFFFF
            vc = (vc + vd) & 0xFFFFFFFF
            vb ^= vc
            vb = (vb >> 7 | vb << 25) & 0xFFFFFFFF
            v[a], v[b], v[c], v[d] = va, vb, vc, vd
        words = [words[place] for place in ORDER]
    return [v[i] ^ v[i + 8] for i in range(8)]


def words_of(block):
    block = block.ljust(64, b"\0")
    return [int.from_bytes(block[i:i + 4], "little") for i in range(0, 64, 4)]


def chunk_hash(chunk, counter, root):
    chain, blocks = IV, [chunk[i:i + 64] for i in range(0, len(chunk), 64)] or [b""]
    for number, block in enumerate(blocks):
        last = number + 1 == len(blocks)
        flags = (CHUNK_START if number == 0 else 0) | (CHUNK_END | root if last else 0)
        chain = compress(chain, words_of(block), counter, len(block), flags)
    return chain


def tree_hash(data, counter, root):
    if len(data) <= 1024:
        return chunk_hash(data, counter, root)
    # The left side is the largest power of two of chunks that leaves something for the right.
    left = 1 << ((len(data) - 1) // 1024).bit_length() - 1
    sides = tree_hash(data[:left * 1024], counter, 0) + tree_hash(data[left * 1024:], counter + left, 0)
    return compress(IV, sides, 0, 64, PARENT | root)


def blake3(data):
    return b"".join(word.to_bytes(4, "little") for word in tree_hash(data, 0, ROOT)).hex()


# --- the canonical form --------------------------------------------------------------------------------------------------

def hash_of(value, without=None):
    if without is not None:
        value = {name: field for name, field in value.items() if name != without}
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return blake3(text.encode("utf-8"))


# --- the checks ----------------------------------------------------------------------------------------------------------

failures = {}


def expect(check, ok, text):
    found = failures.setdefault(check, [])
    if not ok:
        found.append(text)


def same(check, place, expected, got):
    expect(check, expected == got, f"{place}: expected {expected}, got {got}")


def ints(numbers):
    return [int(number) for number in numbers]


def is_prime(n):
    if n < 2 or any(n % p == 0 and n != p for p in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)):
        return False
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37):
        x = pow(base, odd, n)
        if base % n and x not in (1, n - 1):
            for _ in range(twos - 1):
                x = x * x % n
                if x == n - 1:
                    break
            else:
                return False
    return True


def recombine(moduli, residues):
    number, product = 0, 1
    for modulus, residue in zip(moduli, residues):
        number += product * ((residue - number) * pow(product, -1, modulus) % modulus)
        product *= modulus
    return number, product


def check_numbers(certificate):
    head, result = certificate["head"], certificate["result"]
    moduli = ints(head["moduli"])
    expect("primes", all(map(is_prime, moduli)) and len(set(moduli)) == len(moduli) and moduli[-1] == max(moduli),
           "expected distinct primes, the largest last")
    # A board of one column may need no stage, and then no sweep.
    swept = ints(prime for sweep in certificate["sweeps"] for prime in sweep["moduli"])
    if swept or int(head["length"]) > 1 or head["executor"] != "block":
        same("primes" if swept else "stages", "primes, each in one sweep", sorted(moduli), sorted(swept))
    for number, sweep in enumerate(certificate["sweeps"]):
        carried = {prime for stage in sweep["stages"] for prime in stage["moduli"]}
        expect("primes", carried <= set(sweep["moduli"]) and (head["way"] == "memory" or len(carried) == len(sweep["moduli"])),
               f"sweep {number}: expected stages with its primes, got {sorted(carried)}")
    values, answer, by_coefficient = {}, 0, [0] * int(head["coefficients"])
    for entry in result["functionals"]:
        number = int(entry["functional"])
        functional = head["functionals"][number]
        bound = 1
        for base, exponent in functional["bound"]:
            bound *= int(base) ** int(exponent)
        counts = []
        for row in entry["residues"]:
            row = ints(row)
            expect("spare_prime", all(0 <= r < m for r, m in zip(row, moduli)) and len(row) == len(moduli),
                   f"{functional['name']}: expected a residue for each prime")
            count, product = recombine(moduli[:-1], row[:-1])
            same("spare_prime", functional["name"], count % moduli[-1], row[-1])
            expect("bound", product > bound >= count, f"{functional['name']}: expected at most {bound}, got {count}")
            counts.append(count)
        if entry["count"] is not None:
            same("count", functional["name"], sum(counts), int(entry["count"]))
        values[number] = counts
        if functional["answer"]:
            same("count", functional["name"], len(by_coefficient), len(counts))
            answer, by_coefficient = answer + sum(counts), [one + more for one, more in zip(by_coefficient, counts)]
    same("count", "the count", answer, int(result["count"]))
    same("count", "by coefficient", by_coefficient if len(by_coefficient) > 1 else [], ints(result["counts"]))
    for table in result["tables"]:
        for row in table["rows"]:
            total = sum(int(weight) * values[int(f)][int(c)] for f, c, weight in row["terms"])
            same("tables", f"{table['name']} {row['index']}", total, int(row["count"]))
    if certificate["cuts"]:
        cuts = {name: int(number) for name, number in certificate["cuts"].items()}
        same("two_cuts", "the prime, which is the spare", moduli[-1], cuts["modulus"])
        same("two_cuts", "the count at a second boundary", cuts["one"], cuts["other"])
        same("two_cuts", "the count", answer % cuts["modulus"], cuts["one"])
    return values


def lane_sums(rows, moduli, lanes, change=lambda number, value: value):
    sums = [0] * lanes
    for number, row in enumerate(rows):
        for lane, value in enumerate(ints(row)):
            sums[lane] = (sums[lane] + change(number, value)) % moduli[lane % len(moduli)]
    return sums


def check_passes(place, stage, moduli):
    """Mass balance of each pass: what went in, times the numbers of successors, is what came out."""
    before = ints(stage["reads"]["sums"])
    same("mass_balance", f"{place}, states", stage["reads"]["states"], stage["passes"][0]["states"])
    for entry in stage["passes"]:
        here = f"{place}, pass {entry['pass']}"
        lanes = len(before)
        same("mass_balance", f"{here}, in", before, lane_sums(entry["by_degree"], moduli, lanes))
        made = lane_sums(entry["by_degree"], moduli, lanes, lambda degree, value: degree * value)
        if entry["by_shift"]:
            same("mass_balance", f"{here}, by shift", made, lane_sums(entry["by_shift"], moduli, lanes))
            made = [0] * lanes
            for shift, row in enumerate(entry["by_shift"]):
                for lane, value in enumerate(ints(row)):
                    to = lane + shift * len(moduli)
                    if to < lanes:
                        made[to] = (made[to] + value) % moduli[lane % len(moduli)]
        same("mass_balance", f"{here}, out", made, ints(entry["new_sums"]) or [0] * lanes)
        before = made
    same("mass_balance", f"{place}, written", before, ints(stage["writes"]["sums"]))


def check_stages(certificate, values):
    head = certificate["head"]
    blocks, passes = head["executor"] == "block", int(head["height"]) * int(head["length"])
    for number, sweep in enumerate(certificate["sweeps"]):
        forward, back, before, kept, directions = int(head["height"]) if blocks else 0, passes, None, None, set()
        for place, stage in enumerate(sweep["stages"]):
            here, moduli = f"sweep {number}, stage {place}", ints(stage["moduli"])
            first, end = int(stage["first_pass"]), int(stage["first_pass"]) + int(stage["cells"])
            transposed = stage["direction"] == "transposed"
            same("stages", here, back if transposed else forward, end if transposed else first)
            forward, back = (forward, first) if transposed else (end, back)
            starts = stage["direction"] not in directions
            same("stages", f"{here}, starts a vector", starts, stage["starts"])
            directions.add(stage["direction"])
            if starts and not transposed and stage["reads"] and head["problem"] != "quoridor":
                states, sums = int(stage["reads"]["states"]), ints(stage["reads"]["sums"])
                expect("start", sums[0] in range(1, states + 1) if blocks else states == sums[0] == 1,
                       f"{here}: a start of {states} states with the sum {sums[0]}")
                same("start", here, [sums[0]] * len(moduli), sums[:len(moduli)])
            if not starts:
                for field in ("moduli", "sums", "fingerprint") + (("states",) if before["exact"] else ()):
                    same("boundaries", f"{here}, {field}", before["writes"][field], stage["reads"][field])
            if stage["kept"]:
                for field in ("moduli", "sums", "fingerprint", "states"):
                    same("boundaries", f"{here}, kept {field}", kept["writes"][field], stage["kept"][field])
            if blocks:
                same("mass_balance", here, stage["balance"]["expected"], stage["balance"]["got"])
            else:
                check_passes(here, stage, moduli)
            for reading in stage["functionals"]:
                counts = values[int(reading["functional"])]
                same("functionals", f"{here}, functional {reading['functional']}",
                     [count % modulus for count in counts for modulus in moduli], ints(reading["lanes"]))
            before, kept = stage, kept if transposed else stage
        same("stages", f"sweep {number}, where its vectors end", back, forward)
    first = certificate["sweeps"][0]["stages"] if certificate["sweeps"] else []
    for number, sweep in enumerate(certificate["sweeps"]):
        for one, other in zip(first, sweep["stages"]):
            for field in ("reads", "writes"):
                if one[field] and other[field] and (one["exact"] or field == "reads"):
                    same("state_counts", f"sweep {number}, pass {other['first_pass']}",
                         one[field]["states"], other[field]["states"])
            for a, b in zip(one["passes"], other["passes"]):
                if one["exact"]:
                    same("state_counts", f"sweep {number}, pass {b['pass']}",
                         (a["states"], a["successors"]), (b["states"], b["successors"]))


def check_hashes(certificate):
    same("hash", "BLAKE3 of the canonical form", hash_of(certificate, "hash"), certificate["hash"])
    before = hash_of(certificate["head"])
    for sweep in certificate["sweeps"]:
        for stage in sweep["stages"]:
            same("chain", f"stage from pass {stage['first_pass']}, hash before", before, stage["before"])
            before = hash_of(stage, "hash")
            same("chain", f"stage from pass {stage['first_pass']}, own hash", before, stage["hash"])
    same("chain", "the result, hash before", before, certificate["result"]["before"])


def main(arguments):
    if len(arguments) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        with open(arguments[1], encoding="utf-8") as file:
            result = json.load(file)
        certificate = result if "format" in result else result["certificate"]
        if (certificate["format"], certificate["version"]) != ("keima certificate", "1"):
            raise ValueError("another format or version")
        check_hashes(certificate)
        check_stages(certificate, check_numbers(certificate))
        if certificate is not result:
            same("result", "the count beside the certificate", certificate["result"]["count"], result["count"])
    except (OSError, KeyError, IndexError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
        print(f"no certificate, or not of its form: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    for check, found in failures.items():
        print(f"{'FAILED' if found else 'ok    '} {check}" + "".join(f"\n       {text[:300]}" for text in found[:3]))
    return 3 if any(failures.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
