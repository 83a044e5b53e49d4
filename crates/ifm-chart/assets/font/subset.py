"""Cuts Inter down to what reports write: Latin, Greek, Cyrillic, arrows, mathematics, symbols.

Usage: subset.py FOLDER_OF_INTER OUTPUT_FOLDER
"""
import sys

from fontTools import subset
from fontTools.ttLib import TTFont

RANGES = (
    "0020-007E,00A0-017F,01CD-01DC,0218-021B,02BB-02DD,0300-030C,0370-03FF,0400-04FF,1E00-1EFF,"
    "2000-206F,2070-209F,20A0-20BF,2100-214F,2150-218F,2190-21FF,2200-22FF,2300-23FF,2500-25FF,"
    "2600-26FF,2700-27BF,FFFD"
)


def code_points():
    for part in RANGES.split(","):
        first, last = part.split("-")[0], part.split("-")[-1]
        yield from range(int(first, 16), int(last, 16) + 1)


source, output = sys.argv[1:]
options = subset.Options()
# Digits of equal width are for tables; kerning and marks are for names.
options.layout_features = ["kern", "tnum", "mark", "mkmk", "ccmp", "locl", "case"]
options.hinting = False
# The names by which programs find a weight of the family, and the licence.
options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 13, 14, 16, 17]
for weight in ("Regular", "SemiBold"):
    font = TTFont(f"{source}/Inter-{weight}.woff2", recalcTimestamp=False)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=list(code_points()))
    subsetter.subset(font)
    for flavor, extension in ((None, "ttf"), ("woff2", "woff2")):
        font.flavor = flavor
        font.save(f"{output}/Inter-{weight}.{extension}")
