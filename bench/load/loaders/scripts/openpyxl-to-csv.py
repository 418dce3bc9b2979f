"""Writes the first sheet of a workbook as CSV, as most Python programs do: openpyxl in its read-only mode."""

import csv
import sys

from openpyxl import load_workbook

sheet = load_workbook(sys.argv[1], read_only=True, data_only=True).worksheets[0]
csv.writer(sys.stdout).writerows(sheet.iter_rows(values_only=True))
