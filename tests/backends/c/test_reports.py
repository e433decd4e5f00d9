"""What sanitizers say, and what is read from it."""

import pytest

from opsdk.backends.c.reports import faults_of
from opsdk.backends.call.language import Fault

GCC = """opsdk: call 3
opsdk: x 0 at 0x60d000000040 of 64 bits
opsdk: y 1 at 0x60d000000110 of 32 bits
==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60d0000000b8 at pc 0x1 bp 0x2 sp 0x3
READ of size 8 at 0x60d0000000b8 thread T0
    #0 0x401234 in f_f64 <C source of t::f>:7
    #1 0x401300 in opsdk_call /tmp/replay.c:80

0x60d0000000b8 is located 0 bytes to the right of 120-byte region [0x60d000000040,0x60d0000000b8)
"""
CLANG = """opsdk: call 0
opsdk: y 1 at 0x60d000000110 of 32 bits
/src/f.c:9:3: runtime error: index 4 out of bounds for type 'int[4]'
==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60d00000010c at pc 0x1 bp 0x2 sp 0x3
WRITE of size 4 at 0x60d00000010c thread T0
    #0 0x401234 in f_f32 /src/f.c:12:5
0x60d00000010c is located 4 bytes before 60-byte region [0x60d000000110,0x60d00000014c)
"""
RACE = """opsdk: x 0 at 0x7b2000000000 of 64 bits
WARNING: ThreadSanitizer: data race (pid=19494)
  Read of size 8 at 0x7b2000000018 by thread T14:
    #0 g_f64._omp_fn.0 /src/f.c:14 (replay+0x18a0)
    #1 work threads.c:44 (replay+0x1bf1)

  Previous atomic write of size 8 at 0x7b2000000018 by thread T13:
    #0 g_f64._omp_fn.0 /src/f.c:15 (replay+0x18e5)

  Location is heap block of size 128 at 0x7b2000000000 allocated by main thread:
    #0 malloc tsan_interceptors_posix.cpp:667 (libtsan.so.2+0x3ee50)

SUMMARY: ThreadSanitizer: data race /src/f.c:14 in g_f64._omp_fn.0
"""
SHARED = "one thread reads index 3 of 'x', which has 16 elements, and another writes it at /src/f.c:15"
FREED = """==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x60d000000048 at pc 0x1 bp 0x2 sp 0x3
READ of size 8 at 0x60d000000048 thread T0
    #0 0x401234 in f_f64 /src/f.c:3
0x60d000000048 is located 8 bytes inside of 16-byte region [0x60d000000040,0x60d000000050)
"""


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (GCC, [Fault(3, "bounds", "it read index 15 of 'x', which has 15 elements", "<C source of t::f>:7")]),
        (
            CLANG,
            [
                Fault(0, "undefined", "index 4 out of bounds for type 'int[4]'", "/src/f.c:9"),
                Fault(0, "bounds", "it wrote index -1 of 'y', which has 15 elements", "/src/f.c:12"),
            ],
        ),
        (FREED, [Fault(0, "bounds", "it read byte 8 of memory of 16 bytes (heap-use-after-free)", "/src/f.c:3")]),
        ("==7==ERROR: AddressSanitizer: stack-overflow on address 0x1", [Fault(0, "bounds", "stack-overflow", "")]),
        (RACE, [Fault(0, "race", SHARED, "/src/f.c:14")]),
        ("opsdk: call 0\nopsdk: end\n", []),
    ],
)
def test_what_sanitizers_say_is_read(said, told):
    assert list(faults_of(said)) == told
