"""Runs ClickHouse out of its library with the arguments of clickhouse-local: clickhouse-server.py <library> <argument>…"""

import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
words = [b"clickhouse", *(word.encode() for word in sys.argv[2:])]
library.chdb_query_cmdline.restype = ctypes.c_void_p
library.chdb_result_error.restype = ctypes.c_char_p
library.chdb_result_error.argtypes = [ctypes.c_void_p]
result = library.chdb_query_cmdline(len(words), (ctypes.c_char_p * len(words))(*words))
problem = library.chdb_result_error(result)
if problem:
    sys.exit(problem.decode())
