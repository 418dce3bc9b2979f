"""Runs ClickHouse from its shared library: clickhouse-server.py <library> <argument of clickhouse-local>…"""

import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
arguments = [b"clickhouse", *(argument.encode() for argument in sys.argv[2:])]
library.chdb_query_cmdline.restype = ctypes.c_void_p
library.chdb_result_error.restype = ctypes.c_char_p
library.chdb_result_error.argtypes = [ctypes.c_void_p]
result = library.chdb_query_cmdline(len(arguments), (ctypes.c_char_p * len(arguments))(*arguments))
error = library.chdb_result_error(result)
if error:
    sys.exit(error.decode())
