"""A second implementation of the key format of docs/reference/key-encoding.md.

It made keys.json and shares no code with the library, so that the two check each other.
It must never be used to rewrite a vector that was once published: the format is frozen.

    python3 reference.py > keys.json
"""

import base64
import json
import struct
import uuid

CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
TAGS = {"bytes": 0x30, "text": 0x31, "path": 0x32, "uuid": 0x38, "timeuuid": 0x39,
        "timestamp": 0x3A, "ulid": 0x3B, "cell": 0x3C, "date": 0x3D}


def escaped(raw):
    return raw.replace(b"\x00", b"\x00\xff") + b"\x00\x01"


def integer(value):
    if value == 0:
        return b"\x18"
    size = (abs(value).bit_length() + 7) // 8
    raw = abs(value).to_bytes(size, "big")
    if value > 0:
        return bytes([0x18 + size]) + raw
    return bytes([0x18 - size]) + bytes(byte ^ 0xFF for byte in raw)


def from_ulid(text):
    value = 0
    for digit in text:
        value = value * 32 + CROCKFORD.index(digit)
    return value.to_bytes(16, "big")


def ascending(kind, value):
    if value is None:
        return b"\x05"
    if kind == "bool":
        return b"\x0b" if value else b"\x0a"
    if kind in ("i64", "u64"):
        return integer(int(value))
    if kind == "f64":
        bits = struct.unpack(">Q", struct.pack(">d", float(value) + 0.0))[0]
        bits = bits ^ (2**64 - 1) if bits >> 63 else bits | 1 << 63
        return b"\x28" + bits.to_bytes(8, "big")
    tag = bytes([TAGS[kind]])
    if kind == "bytes":
        return tag + escaped(bytes.fromhex(value))
    if kind == "text":
        return tag + escaped(value.encode())
    if kind == "path":
        return tag + b"".join(escaped(element.encode()) for element in value) + b"\x00\x00"
    if kind == "uuid":
        return tag + uuid.UUID(value).bytes
    if kind == "timeuuid":
        raw = uuid.UUID(value).bytes
        rest = bytes(byte ^ 0x80 for byte in raw[8:])
        return tag + raw[6:8] + raw[4:6] + raw[0:4] + rest
    if kind == "timestamp":
        return tag + (int(value) + 2**63).to_bytes(8, "big")
    if kind == "ulid":
        return tag + from_ulid(value)
    if kind == "cell":
        return tag + int(value).to_bytes(8, "big")
    return tag + (int(value) + 2**31).to_bytes(4, "big")


def segment(kind, direction, value):
    raw = ascending(kind.rstrip("?"), value)
    return raw if direction == "ascending" else bytes(byte ^ 0xFF for byte in raw)


def calendar(days):
    """Counts whole years and months: slow, and nothing like the library."""
    cycles, days = divmod(days, 146097)
    year = 1970 + 400 * cycles
    while True:
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        if days < 365 + leap:
            break
        days -= 365 + leap
        year += 1
    month = 0
    for length in (31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31):
        month += 1
        if days < length:
            break
        days -= length
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{month:02}-{days + 1:02}"


def clock(milliseconds):
    days, rest = divmod(milliseconds, 86_400_000)
    seconds, millisecond = divmod(rest, 1000)
    hour, minute, second = seconds // 3600, seconds // 60 % 60, seconds % 60
    return f"{calendar(days)}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}Z"


def escaped_text(raw, separator):
    wrong = set("%{}" + separator + "\x7f") | {chr(code) for code in range(32)}
    return "".join(f"%{ord(char):02x}" if char in wrong else char for char in raw)


def texts(kind, value):
    """The raw parts of one value; the float forms are given by hand."""
    if kind == "bool":
        return ["true" if value else "false"]
    if kind == "bytes":
        return [base64.urlsafe_b64encode(bytes.fromhex(value)).decode().rstrip("=")]
    if kind == "path":
        return value
    if kind == "timestamp":
        return [clock(int(value))]
    if kind == "cell":
        return [f"{int(value):016x}"]
    if kind == "date":
        return [calendar(int(value))]
    return [value]


def key_text(segments, separator):
    parts = ["k"]
    for place, (kind, _, value) in enumerate(segments):
        if value is None or (kind == "path" and place + 1 < len(segments)):
            return None
        parts += [escaped_text(part, separator) for part in texts(kind.rstrip("?"), value)]
    return separator.join(parts)


def vector(about, segments, collection=7):
    raw = struct.pack(">H", collection) + b"".join(segment(*each) for each in segments)
    return {"about": about, "collection": collection,
            "segments": [{"type": kind, "direction": direction, "value": value}
                         for kind, direction, value in segments],
            "bytes": raw.hex(), "text": key_text(segments, ":"),
            "text_slash": key_text(segments, "/")}


V1 = "7d444840-9dc0-11d1-b245-5ffdce74fad2"
BORDERS = {
    "bool": [("false", False), ("true", True)],
    "i64": [(name, str(value)) for name, value in [
        ("zero", 0), ("one", 1), ("minus one", -1), ("largest of one byte", 255),
        ("smallest of two bytes", 256), ("minus 255", -255), ("minus 256", -256),
        ("65535", 65535), ("65536", 65536), ("2^31", 2**31), ("2^32 - 1", 2**32 - 1),
        ("2^53 - 1", 2**53 - 1), ("2^53", 2**53), ("2^53 + 1", 2**53 + 1),
        ("-2^53 - 1", -2**53 - 1), ("2^56 - 1", 2**56 - 1), ("2^56", 2**56),
        ("largest", 2**63 - 1), ("smallest", -2**63), ("next to smallest", -2**63 + 1)]],
    "u64": [(name, str(value)) for name, value in [
        ("zero", 0), ("one", 1), ("2^53 + 1", 2**53 + 1), ("2^63 - 1", 2**63 - 1),
        ("2^63", 2**63), ("next to largest", 2**64 - 2), ("largest", 2**64 - 1)]],
    "f64": [("zero", "0"), ("one", "1"), ("minus one", "-1"), ("a tenth", "0.1"),
            ("smallest subnormal", "5e-324"), ("minus smallest subnormal", "-5e-324"),
            ("largest subnormal", "2.225073858507201e-308"),
            ("smallest normal", "2.2250738585072014e-308"),
            ("largest", "1.7976931348623157e+308"), ("most negative", "-1.7976931348623157e+308"),
            ("2^53", "9007199254740992"), ("last without exponent", "999999999999999900000"),
            ("first with exponent", "1e+21"), ("a millionth", "0.000001"), ("small", "1e-7"),
            ("infinity", "Infinity"), ("minus infinity", "-Infinity")],
    "bytes": [("empty", ""), ("one zero", "00"), ("two zeros", "0000"), ("00 01", "0001"),
              ("00 ff", "00ff"), ("ff", "ff"), ("ff 00 ff", "ff00ff"), ("fe", "fe"),
              ("not UTF-8", "c328"), ("all kinds", "00017f80feff")],
    "text": [("empty", ""), ("letter", "a"), ("word", "notes"), ("one NUL", "\0"),
             ("NUL at the end", "a\0"), ("NUL inside", "a\0b"), ("U+0001", "\x01"),
             ("NUL then U+0001", "\0\x01"), ("NUL then U+00FF", "\0\u00ff"),
             ("emoji", "\U0001F600"), ("composed accent", "\u00e9"),
             ("decomposed accent", "e\u0301"), ("last code point", "\U0010ffff"),
             ("colon", "a:b"), ("slash", "a/b"), ("percent", "100%"), ("looks escaped", "%3a"),
             ("braces", "{a}"), ("line end", "a\r\n"), ("delete", "\x7f"), ("space", " a "),
             ("dots", ".."), ("upper case", "A"), ("an enum's value", "in_progress"),
             ("seven bytes and NUL", "1234567\0"), ("eight bytes", "12345678"),
             ("nine bytes", "123456789"), ("byte order mark", "\ufeff"),
             ("number as text", "10")],
    "path": [("empty", []), ("one empty element", [""]), ("two empty elements", ["", ""]),
             ("one element", ["a"]), ("two elements", ["a", "b"]), ("empty in front", ["", "a"]),
             ("empty behind", ["a", ""]), ("NUL in an element", ["a\0", "b"]),
             ("element that is NUL", ["\0"]), ("separators", ["a:b", "c/d"]),
             ("deep", ["a", "b", "c", "d", "e"]), ("file", ["src", "key", "mod.rs"])],
    "uuid": [("nil", "00000000-0000-0000-0000-000000000000"),
             ("max", "ffffffff-ffff-ffff-ffff-ffffffffffff"),
             ("version 4", "f81d4fae-7dec-41d0-a765-00a0c91e6bf6"), ("version 1", V1)],
    "timeuuid": [("version 1", V1), ("smallest", "00000000-0000-1000-8000-000000000000"),
                 ("largest", "ffffffff-ffff-1fff-bfff-ffffffffffff"),
                 ("one tick later", "7d444841-9dc0-11d1-b245-5ffdce74fad2"),
                 ("signed node bytes", "7d444840-9dc0-11d1-8000-7f80ff000001")],
    "timestamp": [("epoch", "0"), ("one before", "-1"), ("a day of 2026", "1794736800000"),
                  ("year 0", "-62167219200000"), ("before year 0", "-62167219200001"),
                  ("end of 9999", "253402300799999"), ("year 10000", "253402300800000"),
                  ("smallest", str(-2**63)), ("largest", str(2**63 - 1))],
    "ulid": [("zero", "0" * 26), ("largest", "7" + "Z" * 25),
             ("example", "01ARZ3NDEKTSV4RRFFQ69G5FAV")],
    "cell": [("zero", "0"), ("one", "1"), ("largest", str(2**64 - 1)),
             ("a city", "9926594385212866560")],
    "date": [("epoch", "0"), ("one before", "-1"), ("a day of 2026", "20772"),
             ("leap day", "11016"), ("not leap", "-25509"), ("year 0", "-719528"),
             ("before year 0", "-719529"), ("end of 9999", "2932896"),
             ("year 10000", "2932897"), ("smallest", str(-2**31)), ("largest", str(2**31 - 1))],
}
DESCENDING = {"i64": ["zero", "one", "minus one", "largest", "smallest"],
              "u64": ["zero", "largest"], "f64": ["zero", "minus one", "infinity"],
              "bytes": ["empty", "one zero", "ff", "00 01"],
              "text": ["empty", "word", "NUL inside", "NUL at the end", "emoji", "eight bytes"],
              "path": ["empty", "one empty element", "two elements", "NUL in an element"],
              "timestamp": ["epoch", "a day of 2026", "smallest"]}
UP, DOWN = "ascending", "descending"


def keys():
    for kind, values in BORDERS.items():
        for name, value in values:
            yield vector(f"{kind}: {name}", [(kind, UP, value)])
    for kind, values in BORDERS.items():
        wanted = DESCENDING.get(kind, [values[-1][0]])
        for name, value in values:
            if name in wanted:
                yield vector(f"{kind} descending: {name}", [(kind, DOWN, value)])
    yield vector("no segments", [])
    yield vector("first collection", [("bool", UP, True)], 0)
    yield vector("last collection", [("bool", DOWN, True)], 65535)
    yield vector("null", [("text?", UP, None)])
    yield vector("null descending", [("i64?", DOWN, None)])
    yield vector("not null where null may be", [("text?", UP, "a")])
    yield vector("null before a value", [("text?", UP, None), ("u64", UP, "1")])
    yield vector("text and integer", [("text", UP, "a"), ("i64", DOWN, "5")])
    yield vector("two texts that could run together", [("text", UP, "a"), ("text", UP, "bc")])
    yield vector("the same letters, cut elsewhere", [("text", UP, "ab"), ("text", UP, "c")])
    yield vector("separator inside the first", [("text", UP, "a:b"), ("text", UP, "c")])
    yield vector("separator inside the second", [("text", UP, "a"), ("text", UP, "b:c")])
    yield vector("message", [("text", UP, "room-1"), ("timeuuid", DOWN, V1)])
    yield vector("three directions",
                 [("text", DOWN, "a\0"), ("u64", UP, "256"), ("date", DOWN, "20772")])
    yield vector("file of a user", [("uuid", UP, V1), ("path", UP, ["docs", "a.txt"])])
    yield vector("path before another segment", [("path", UP, ["a"]), ("bool", UP, False)])
    yield vector("64 segments", [("bool", UP, place % 2 == 0) for place in range(64)])
    yield vector("1,024 bytes", [("text", UP, "x" * 1019)])


def refused():
    def case(about, raw, reason, *types):
        return {"about": about, "segments": [
            {"type": name.lstrip("-"), "direction": DOWN if name[0] == "-" else UP}
            for name in types], "bytes": raw.replace(" ", ""), "reason": reason}
    yield case("nothing", "", "Truncated")
    yield case("half a collection number", "00", "Truncated")
    yield case("no segment", "0007", "Truncated", "text")
    yield case("trailing byte", "0007 0b 00", "TrailingBytes", "bool")
    yield case("trailing segment", "0007 0b 0b", "TrailingBytes", "bool")
    yield case("segment begins with 00", "0007 00", "UnknownTag", "bool")
    yield case("segment begins with ff", "0007 ff", "UnknownTag", "bool")
    yield case("unknown tag", "0007 21", "UnknownTag", "i64")
    yield case("unknown tag below integers", "0007 0f", "UnknownTag", "i64")
    yield case("text for bytes", "0007 31 61 0001", "WrongType", "bytes")
    yield case("bytes for text", "0007 30 61 0001", "WrongType", "text")
    yield case("uuid for ulid", "0007 38" + "00" * 16, "WrongType", "ulid")
    yield case("null where none may be", "0007 05", "WrongType", "text")
    yield case("descending for ascending", "0007 f4", "WrongDirection", "bool")
    yield case("ascending for descending", "0007 0b", "WrongDirection", "-bool")
    yield case("zero in one byte", "0007 19 00", "NotMinimal", "i64")
    yield case("one in two bytes", "0007 1a 0001", "NotMinimal", "i64")
    yield case("255 in eight bytes", "0007 20 00000000000000ff", "NotMinimal", "u64")
    yield case("minus one in two bytes", "0007 16 fffe", "NotMinimal", "i64")
    yield case("minus zero", "0007 17 ff", "NotMinimal", "i64")
    yield case("one in two bytes, descending", "0007 e5 fffe", "NotMinimal", "-i64")
    yield case("2^63 for i64", "0007 20 8000000000000000", "OutOfRange", "i64")
    yield case("-2^63 - 1", "0007 10 7ffffffffffffffe", "OutOfRange", "i64")
    yield case("minus one for u64", "0007 17 fe", "OutOfRange", "u64")
    yield case("integer cut short", "0007 1b 0102", "Truncated", "i64")
    yield case("float cut short", "0007 28 80", "Truncated", "f64")
    yield case("negative zero", "0007 28 7fffffffffffffff", "NegativeZero", "f64")
    yield case("NaN", "0007 28 fff8000000000000", "NotANumber", "f64")
    yield case("negative NaN", "0007 28 0007ffffffffffff", "NotANumber", "f64")
    yield case("signalling NaN", "0007 28 fff0000000000001", "NotANumber", "f64")
    yield case("text without end", "0007 31 61", "Truncated", "text")
    yield case("text with half an end", "0007 31 61 00", "Truncated", "text")
    yield case("00 02 in text", "0007 31 61 0002 0001", "BadEscape", "text")
    yield case("00 00 in text", "0007 31 0000", "BadEscape", "text")
    yield case("00 fe after an escape", "0007 30 00ff 00fe", "BadEscape", "bytes")
    yield case("00 00 in descending text", "0007 ce ffff", "BadEscape", "-text")
    yield case("text not UTF-8", "0007 31 c328 0001", "NotUtf8", "text")
    yield case("overlong UTF-8", "0007 31 c080 0001", "NotUtf8", "text")
    yield case("lone surrogate", "0007 31 eda080 0001", "NotUtf8", "text")
    yield case("descending text not UTF-8", "0007 ce 00 fffe", "NotUtf8", "-text")
    yield case("not UTF-8 after an escape", "0007 31 00ff ff 0001", "NotUtf8", "text")
    yield case("path without end", "0007 32 61 0001", "Truncated", "path")
    yield case("path ends inside an element", "0007 32 61 0000", "BadEscape", "path")
    yield case("path element not UTF-8", "0007 32 ff 0001 0000", "NotUtf8", "path")
    yield case("uuid cut short", "0007 38" + "00" * 15, "Truncated", "uuid")
    yield case("time UUID of version 4", "0007 39 41d09dc07d444840 3245dffd4ef47a52",
               "NotTimeUuid", "timeuuid")
    yield case("time UUID of another variant", "0007 39 11d19dc07d444840 8000000000000000",
               "NotTimeUuid", "timeuuid")
    yield case("date cut short", "0007 3d 800000", "Truncated", "date")
    yield case("65 segments", "0007" + "0a" * 65, "TooManySegments", *["bool"] * 65)
    yield case("1,025 bytes", "0007 31" + "78" * 1020 + "0001", "KeyTooLong", "text")


def refused_texts():
    def case(about, kind, text, reason, separator=":"):
        return {"about": about, "type": kind, "separator": separator, "text": text,
                "reason": reason}
    yield case("another literal", "text", "j:a", "WrongLiteral")
    yield case("no value", "text", "k", "PartCount")
    yield case("a part too many", "text", "k:a:b", "PartCount")
    yield case("upper-case escape", "text", "k:%3A", "NotCanonical")
    yield case("needless escape", "text", "k:%61", "NotCanonical")
    yield case("escape of the other separator", "text", "k:%2f", "NotCanonical")
    yield case("escape cut short", "text", "k:%3", "BadText")
    yield case("escape without digits", "text", "k:%zz", "BadText")
    yield case("raw brace", "text", "k:{", "NotCanonical")
    yield case("raw line end", "text", "k:\n", "NotCanonical")
    yield case("not UTF-8", "text", "k:%ff", "NotUtf8")
    yield case("leading zero", "i64", "k:01", "NotCanonical")
    yield case("plus", "i64", "k:+1", "NotCanonical")
    yield case("minus zero", "i64", "k:-0", "NotCanonical")
    yield case("too large", "i64", "k:9223372036854775808", "BadText")
    yield case("negative", "u64", "k:-1", "BadText")
    yield case("float with a needless point", "f64", "k:1.0", "NotCanonical")
    yield case("float minus zero", "f64", "k:-0", "NotCanonical")
    yield case("NaN", "f64", "k:NaN", "BadText")
    yield case("too large for a float", "f64", "k:1e400", "BadText")
    yield case("short infinity", "f64", "k:inf", "BadText")
    yield case("bool in capitals", "bool", "k:True", "BadText")
    yield case("padding", "bytes", "k:Zg==", "BadText")
    yield case("bits left over", "bytes", "k:Zh", "NotCanonical")
    yield case("uuid in capitals", "uuid", "k:" + V1.upper(), "NotCanonical")
    yield case("uuid without hyphens", "uuid", "k:" + V1.replace("-", ""), "NotCanonical")
    yield case("time UUID of version 4", "timeuuid",
               "k:f81d4fae-7dec-41d0-a765-00a0c91e6bf6", "NotTimeUuid")
    yield case("ulid in small letters", "ulid", "k:01arz3ndektsv4rrffq69g5fav", "BadText")
    yield case("ulid too large", "ulid", "k:8" + "0" * 25, "NotCanonical")
    yield case("cell too short", "cell", "k:1", "BadText")
    yield case("day that is not", "date", "k:2026-02-29", "NotCanonical")
    yield case("month that is not", "date", "k:2026-13-01", "BadText")
    yield case("signed year", "date", "k:+2026-11-15", "NotCanonical")
    yield case("no milliseconds", "timestamp", "k/2026-11-15T10:00:00Z", "BadText", "/")
    yield case("leap second", "timestamp", "k/2016-12-31T23:59:60.000Z", "BadText", "/")
    yield case("another zone", "timestamp", "k/2026-11-15T10:00:00.000+01:00", "BadText", "/")
    yield case("raw colons", "timestamp", "k:2026-11-15T10:00:00.000Z", "BadText")


def main():
    stored_alike = vector("f64: negative zero", [("f64", UP, "-0")])
    document = {"format": 1, "keys": list(keys()),
                "stored_alike": [{name: stored_alike[name] for name in (
                    "about", "collection", "segments", "bytes")}],
                "refused": list(refused()), "refused_texts": list(refused_texts())}
    lines = [f'{{"format": {document["format"]}']
    for name in ("keys", "stored_alike", "refused", "refused_texts"):
        cases = ",\n".join(json.dumps(case) for case in document[name])
        lines.append(f'"{name}": [\n{cases}\n]')
    print(",\n".join(lines) + "}")


if __name__ == "__main__":
    main()
