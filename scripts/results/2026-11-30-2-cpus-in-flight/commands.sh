#!/bin/sh
# How to repeat each point by hand, in a terminal for each program: followers, then the server,
# then the client.

# window, RTT/S = 0.25, one at a time, 1
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=1 --interval=200ms --net-delay=250us --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 0.25, one at a time, 2
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=2 --interval=200ms --net-delay=250us --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 0.25, one at a time, 3
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=3 --interval=200ms --net-delay=250us --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 0.25, one at a time, 4
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=4 --interval=200ms --net-delay=250us --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 0.25, one at a time, 5
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=5 --interval=200ms --net-delay=250us --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 0.25, one at a time, 6
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=6 --interval=200ms --net-delay=250us --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 0.25, one at a time, 8
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=8 --interval=200ms --net-delay=250us --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 0.25, one at a time, 16
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=16 --interval=200ms --net-delay=250us --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 1, one at a time, 1
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=1 --interval=200ms --net-delay=1ms --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 1, one at a time, 2
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=2 --interval=200ms --net-delay=1ms --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 1, one at a time, 3
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=3 --interval=200ms --net-delay=1ms --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 1, one at a time, 4
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=4 --interval=200ms --net-delay=1ms --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 1, one at a time, 5
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=5 --interval=200ms --net-delay=1ms --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 1, one at a time, 6
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=6 --interval=200ms --net-delay=1ms --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 1, one at a time, 8
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=8 --interval=200ms --net-delay=1ms --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 1, one at a time, 16
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=16 --interval=200ms --net-delay=1ms --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 4, one at a time, 1
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=1 --interval=200ms --net-delay=4ms --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 4, one at a time, 2
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=2 --interval=200ms --net-delay=4ms --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 4, one at a time, 3
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=3 --interval=200ms --net-delay=4ms --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 4, one at a time, 4
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=4 --interval=200ms --net-delay=4ms --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 4, one at a time, 5
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=5 --interval=200ms --net-delay=4ms --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 4, one at a time, 6
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=6 --interval=200ms --net-delay=4ms --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 4, one at a time, 8
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=8 --interval=200ms --net-delay=4ms --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 4, one at a time, 16
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=16 --interval=200ms --net-delay=4ms --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 4, side by side, 1
# echo-server --calls-per-connection=1024 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=1 --interval=200ms --net-delay=4ms --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 4, side by side, 2
# echo-server --calls-per-connection=1024 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=2 --interval=200ms --net-delay=4ms --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 4, side by side, 3
# echo-server --calls-per-connection=1024 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=3 --interval=200ms --net-delay=4ms --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 4, side by side, 4
# echo-server --calls-per-connection=1024 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=4 --interval=200ms --net-delay=4ms --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 4, side by side, 5
# echo-server --calls-per-connection=1024 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=5 --interval=200ms --net-delay=4ms --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 4, side by side, 6
# echo-server --calls-per-connection=1024 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=6 --interval=200ms --net-delay=4ms --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 4, side by side, 8
# echo-server --calls-per-connection=1024 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=8 --interval=200ms --net-delay=4ms --workers=1 --duration=1500000000ns --warmup=300000000ns

# window, RTT/S = 4, side by side, 16
# echo-server --calls-per-connection=1024 --handler-cost=paced:2ms --handlers=16 --pin=none
# echo-client --clients=1 --in-flight=16 --interval=200ms --net-delay=4ms --workers=1 --duration=1500000000ns --warmup=300000000ns

# sizes, 64 B, acks=1, 1
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=1 --interval=200ms --net-delay=1500us --record-size=64 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 64 B, acks=1, 2
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=2 --interval=200ms --net-delay=1500us --record-size=64 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 64 B, acks=1, 3
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=3 --interval=200ms --net-delay=1500us --record-size=64 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 64 B, acks=1, 4
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=4 --interval=200ms --net-delay=1500us --record-size=64 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 64 B, acks=1, 5
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --record-size=64 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 64 B, acks=1, 6
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=6 --interval=200ms --net-delay=1500us --record-size=64 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 256 B, acks=1, 1
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=1 --interval=200ms --net-delay=1500us --record-size=256 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 256 B, acks=1, 2
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=2 --interval=200ms --net-delay=1500us --record-size=256 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 256 B, acks=1, 3
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=3 --interval=200ms --net-delay=1500us --record-size=256 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 256 B, acks=1, 4
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=4 --interval=200ms --net-delay=1500us --record-size=256 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 256 B, acks=1, 5
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --record-size=256 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 256 B, acks=1, 6
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=6 --interval=200ms --net-delay=1500us --record-size=256 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 1 KiB, acks=1, 1
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=1 --interval=200ms --net-delay=1500us --record-size=1024 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 1 KiB, acks=1, 2
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=2 --interval=200ms --net-delay=1500us --record-size=1024 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 1 KiB, acks=1, 3
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=3 --interval=200ms --net-delay=1500us --record-size=1024 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 1 KiB, acks=1, 4
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=4 --interval=200ms --net-delay=1500us --record-size=1024 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 1 KiB, acks=1, 5
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --record-size=1024 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 1 KiB, acks=1, 6
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=6 --interval=200ms --net-delay=1500us --record-size=1024 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 4 KiB, acks=1, 1
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=1 --interval=200ms --net-delay=1500us --record-size=4096 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 4 KiB, acks=1, 2
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=2 --interval=200ms --net-delay=1500us --record-size=4096 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 4 KiB, acks=1, 3
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=3 --interval=200ms --net-delay=1500us --record-size=4096 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 4 KiB, acks=1, 4
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=4 --interval=200ms --net-delay=1500us --record-size=4096 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 4 KiB, acks=1, 5
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --record-size=4096 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 4 KiB, acks=1, 6
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=6 --interval=200ms --net-delay=1500us --record-size=4096 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 8 KiB, acks=1, 1
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=1 --interval=200ms --net-delay=1500us --record-size=8192 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 8 KiB, acks=1, 2
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=2 --interval=200ms --net-delay=1500us --record-size=8192 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 8 KiB, acks=1, 3
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=3 --interval=200ms --net-delay=1500us --record-size=8192 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 8 KiB, acks=1, 4
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=4 --interval=200ms --net-delay=1500us --record-size=8192 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 8 KiB, acks=1, 5
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --record-size=8192 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 8 KiB, acks=1, 6
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=6 --interval=200ms --net-delay=1500us --record-size=8192 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 1 KiB, acks=all, 1
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --clients=1 --in-flight=1 --interval=200ms --net-delay=1500us --record-size=1024 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 1 KiB, acks=all, 2
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --clients=1 --in-flight=2 --interval=200ms --net-delay=1500us --record-size=1024 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 1 KiB, acks=all, 3
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --clients=1 --in-flight=3 --interval=200ms --net-delay=1500us --record-size=1024 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 1 KiB, acks=all, 4
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --clients=1 --in-flight=4 --interval=200ms --net-delay=1500us --record-size=1024 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 1 KiB, acks=all, 5
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --record-size=1024 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# sizes, 1 KiB, acks=all, 6
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --clients=1 --in-flight=6 --interval=200ms --net-delay=1500us --record-size=1024 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 64 B, acks=1, 1
# rate: 70 % of what 64 B, acks=1 at 5 (sizes) carried: 154,829 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=1 --interval=200ms --net-delay=1500us --rate=154829 --record-size=64 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 64 B, acks=1, 2
# rate: 70 % of what 64 B, acks=1 at 5 (sizes) carried: 154,829 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=2 --interval=200ms --net-delay=1500us --rate=154829 --record-size=64 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 64 B, acks=1, 3
# rate: 70 % of what 64 B, acks=1 at 5 (sizes) carried: 154,829 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=3 --interval=200ms --net-delay=1500us --rate=154829 --record-size=64 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 64 B, acks=1, 5
# rate: 70 % of what 64 B, acks=1 at 5 (sizes) carried: 154,829 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --rate=154829 --record-size=64 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 64 B, acks=1, 8
# rate: 70 % of what 64 B, acks=1 at 5 (sizes) carried: 154,829 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=8 --interval=200ms --net-delay=1500us --rate=154829 --record-size=64 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 256 B, acks=1, 1
# rate: 70 % of what 256 B, acks=1 at 5 (sizes) carried: 38,707 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=1 --interval=200ms --net-delay=1500us --rate=38707 --record-size=256 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 256 B, acks=1, 2
# rate: 70 % of what 256 B, acks=1 at 5 (sizes) carried: 38,707 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=2 --interval=200ms --net-delay=1500us --rate=38707 --record-size=256 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 256 B, acks=1, 3
# rate: 70 % of what 256 B, acks=1 at 5 (sizes) carried: 38,707 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=3 --interval=200ms --net-delay=1500us --rate=38707 --record-size=256 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 256 B, acks=1, 5
# rate: 70 % of what 256 B, acks=1 at 5 (sizes) carried: 38,707 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --rate=38707 --record-size=256 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 256 B, acks=1, 8
# rate: 70 % of what 256 B, acks=1 at 5 (sizes) carried: 38,707 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=8 --interval=200ms --net-delay=1500us --rate=38707 --record-size=256 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 1 KiB, acks=1, 1
# rate: 70 % of what 1 KiB, acks=1 at 5 (sizes) carried: 9,744 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=1 --interval=200ms --net-delay=1500us --rate=9744 --record-size=1024 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 1 KiB, acks=1, 2
# rate: 70 % of what 1 KiB, acks=1 at 5 (sizes) carried: 9,744 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=2 --interval=200ms --net-delay=1500us --rate=9744 --record-size=1024 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 1 KiB, acks=1, 3
# rate: 70 % of what 1 KiB, acks=1 at 5 (sizes) carried: 9,744 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=3 --interval=200ms --net-delay=1500us --rate=9744 --record-size=1024 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 1 KiB, acks=1, 5
# rate: 70 % of what 1 KiB, acks=1 at 5 (sizes) carried: 9,744 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --rate=9744 --record-size=1024 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 1 KiB, acks=1, 8
# rate: 70 % of what 1 KiB, acks=1 at 5 (sizes) carried: 9,744 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=8 --interval=200ms --net-delay=1500us --rate=9744 --record-size=1024 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 4 KiB, acks=1, 1
# rate: 70 % of what 4 KiB, acks=1 at 5 (sizes) carried: 2,419 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=1 --interval=200ms --net-delay=1500us --rate=2419 --record-size=4096 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 4 KiB, acks=1, 2
# rate: 70 % of what 4 KiB, acks=1 at 5 (sizes) carried: 2,419 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=2 --interval=200ms --net-delay=1500us --rate=2419 --record-size=4096 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 4 KiB, acks=1, 3
# rate: 70 % of what 4 KiB, acks=1 at 5 (sizes) carried: 2,419 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=3 --interval=200ms --net-delay=1500us --rate=2419 --record-size=4096 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 4 KiB, acks=1, 5
# rate: 70 % of what 4 KiB, acks=1 at 5 (sizes) carried: 2,419 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --rate=2419 --record-size=4096 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 4 KiB, acks=1, 8
# rate: 70 % of what 4 KiB, acks=1 at 5 (sizes) carried: 2,419 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=8 --interval=200ms --net-delay=1500us --rate=2419 --record-size=4096 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 8 KiB, acks=1, 1
# rate: 70 % of what 8 KiB, acks=1 at 5 (sizes) carried: 1,210 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=1 --interval=200ms --net-delay=1500us --rate=1210 --record-size=8192 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 8 KiB, acks=1, 2
# rate: 70 % of what 8 KiB, acks=1 at 5 (sizes) carried: 1,210 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=2 --interval=200ms --net-delay=1500us --rate=1210 --record-size=8192 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 8 KiB, acks=1, 3
# rate: 70 % of what 8 KiB, acks=1 at 5 (sizes) carried: 1,210 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=3 --interval=200ms --net-delay=1500us --rate=1210 --record-size=8192 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 8 KiB, acks=1, 5
# rate: 70 % of what 8 KiB, acks=1 at 5 (sizes) carried: 1,210 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --rate=1210 --record-size=8192 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 8 KiB, acks=1, 8
# rate: 70 % of what 8 KiB, acks=1 at 5 (sizes) carried: 1,210 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=8 --interval=200ms --net-delay=1500us --rate=1210 --record-size=8192 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 64 B, acks=all, 1
# rate: 70 % of what 64 B, acks=1 at 5 (sizes) carried: 154,829 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=1 --interval=200ms --net-delay=1500us --rate=154829 --record-size=64 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 64 B, acks=all, 2
# rate: 70 % of what 64 B, acks=1 at 5 (sizes) carried: 154,829 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=2 --interval=200ms --net-delay=1500us --rate=154829 --record-size=64 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 64 B, acks=all, 3
# rate: 70 % of what 64 B, acks=1 at 5 (sizes) carried: 154,829 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=3 --interval=200ms --net-delay=1500us --rate=154829 --record-size=64 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 64 B, acks=all, 5
# rate: 70 % of what 64 B, acks=1 at 5 (sizes) carried: 154,829 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --rate=154829 --record-size=64 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 64 B, acks=all, 8
# rate: 70 % of what 64 B, acks=1 at 5 (sizes) carried: 154,829 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=8 --interval=200ms --net-delay=1500us --rate=154829 --record-size=64 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 256 B, acks=all, 1
# rate: 70 % of what 256 B, acks=1 at 5 (sizes) carried: 38,707 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=1 --interval=200ms --net-delay=1500us --rate=38707 --record-size=256 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 256 B, acks=all, 2
# rate: 70 % of what 256 B, acks=1 at 5 (sizes) carried: 38,707 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=2 --interval=200ms --net-delay=1500us --rate=38707 --record-size=256 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 256 B, acks=all, 3
# rate: 70 % of what 256 B, acks=1 at 5 (sizes) carried: 38,707 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=3 --interval=200ms --net-delay=1500us --rate=38707 --record-size=256 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 256 B, acks=all, 5
# rate: 70 % of what 256 B, acks=1 at 5 (sizes) carried: 38,707 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --rate=38707 --record-size=256 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 256 B, acks=all, 8
# rate: 70 % of what 256 B, acks=1 at 5 (sizes) carried: 38,707 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=8 --interval=200ms --net-delay=1500us --rate=38707 --record-size=256 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 1 KiB, acks=all, 1
# rate: 70 % of what 1 KiB, acks=1 at 5 (sizes) carried: 9,744 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=1 --interval=200ms --net-delay=1500us --rate=9744 --record-size=1024 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 1 KiB, acks=all, 2
# rate: 70 % of what 1 KiB, acks=1 at 5 (sizes) carried: 9,744 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=2 --interval=200ms --net-delay=1500us --rate=9744 --record-size=1024 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 1 KiB, acks=all, 3
# rate: 70 % of what 1 KiB, acks=1 at 5 (sizes) carried: 9,744 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=3 --interval=200ms --net-delay=1500us --rate=9744 --record-size=1024 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 1 KiB, acks=all, 5
# rate: 70 % of what 1 KiB, acks=1 at 5 (sizes) carried: 9,744 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --rate=9744 --record-size=1024 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 1 KiB, acks=all, 8
# rate: 70 % of what 1 KiB, acks=1 at 5 (sizes) carried: 9,744 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=8 --interval=200ms --net-delay=1500us --rate=9744 --record-size=1024 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 4 KiB, acks=all, 1
# rate: 70 % of what 4 KiB, acks=1 at 5 (sizes) carried: 2,419 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=1 --interval=200ms --net-delay=1500us --rate=2419 --record-size=4096 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 4 KiB, acks=all, 2
# rate: 70 % of what 4 KiB, acks=1 at 5 (sizes) carried: 2,419 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=2 --interval=200ms --net-delay=1500us --rate=2419 --record-size=4096 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 4 KiB, acks=all, 3
# rate: 70 % of what 4 KiB, acks=1 at 5 (sizes) carried: 2,419 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=3 --interval=200ms --net-delay=1500us --rate=2419 --record-size=4096 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 4 KiB, acks=all, 5
# rate: 70 % of what 4 KiB, acks=1 at 5 (sizes) carried: 2,419 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --rate=2419 --record-size=4096 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 4 KiB, acks=all, 8
# rate: 70 % of what 4 KiB, acks=1 at 5 (sizes) carried: 2,419 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=8 --interval=200ms --net-delay=1500us --rate=2419 --record-size=4096 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 8 KiB, acks=all, 1
# rate: 70 % of what 8 KiB, acks=1 at 5 (sizes) carried: 1,210 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=1 --interval=200ms --net-delay=1500us --rate=1210 --record-size=8192 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 8 KiB, acks=all, 2
# rate: 70 % of what 8 KiB, acks=1 at 5 (sizes) carried: 1,210 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=2 --interval=200ms --net-delay=1500us --rate=1210 --record-size=8192 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 8 KiB, acks=all, 3
# rate: 70 % of what 8 KiB, acks=1 at 5 (sizes) carried: 1,210 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=3 --interval=200ms --net-delay=1500us --rate=1210 --record-size=8192 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 8 KiB, acks=all, 5
# rate: 70 % of what 8 KiB, acks=1 at 5 (sizes) carried: 1,210 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --rate=1210 --record-size=8192 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# matched, 8 KiB, acks=all, 8
# rate: 70 % of what 8 KiB, acks=1 at 5 (sizes) carried: 1,210 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=8 --interval=200ms --net-delay=1500us --rate=1210 --record-size=8192 --streams=9 --workers=1 --duration=1500000000ns --warmup=400000000ns

# batching, batching, 1
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=4 --pin=none
# echo-client --clients=1 --in-flight=1 --interval=200ms --net-delay=1ms --rate=20000 --record-size=256 --streams=9 --workers=1 --duration=1500000000ns --warmup=300000000ns

# batching, batching, 2
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=4 --pin=none
# echo-client --clients=1 --in-flight=2 --interval=200ms --net-delay=1ms --rate=20000 --record-size=256 --streams=9 --workers=1 --duration=1500000000ns --warmup=300000000ns

# batching, batching, 3
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=4 --pin=none
# echo-client --clients=1 --in-flight=3 --interval=200ms --net-delay=1ms --rate=20000 --record-size=256 --streams=9 --workers=1 --duration=1500000000ns --warmup=300000000ns

# batching, batching, 5
# echo-server --calls-per-connection=1 --handler-cost=paced:2ms --handlers=4 --pin=none
# echo-client --clients=1 --in-flight=5 --interval=200ms --net-delay=1ms --rate=20000 --record-size=256 --streams=9 --workers=1 --duration=1500000000ns --warmup=300000000ns

# streams, 1 in flight, 1
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=1 --interval=200ms --net-delay=1500us --record-size=4096 --streams=1 --workers=1 --duration=3000000000ns --warmup=500000000ns

# streams, 1 in flight, 3
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=1 --interval=200ms --net-delay=1500us --record-size=4096 --streams=3 --workers=1 --duration=3000000000ns --warmup=500000000ns

# streams, 1 in flight, 9
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=1 --interval=200ms --net-delay=1500us --record-size=4096 --streams=9 --workers=1 --duration=3000000000ns --warmup=500000000ns

# streams, 1 in flight, 27
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=1 --interval=200ms --net-delay=1500us --record-size=4096 --streams=27 --workers=1 --duration=3000000000ns --warmup=500000000ns

# streams, 1 in flight, 64
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=1 --interval=200ms --net-delay=1500us --record-size=4096 --streams=64 --workers=1 --duration=3000000000ns --warmup=500000000ns

# streams, 2 in flight, 1
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=2 --interval=200ms --net-delay=1500us --record-size=4096 --streams=1 --workers=1 --duration=3000000000ns --warmup=500000000ns

# streams, 2 in flight, 3
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=2 --interval=200ms --net-delay=1500us --record-size=4096 --streams=3 --workers=1 --duration=3000000000ns --warmup=500000000ns

# streams, 2 in flight, 9
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=2 --interval=200ms --net-delay=1500us --record-size=4096 --streams=9 --workers=1 --duration=3000000000ns --warmup=500000000ns

# streams, 2 in flight, 27
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=2 --interval=200ms --net-delay=1500us --record-size=4096 --streams=27 --workers=1 --duration=3000000000ns --warmup=500000000ns

# streams, 2 in flight, 64
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=2 --interval=200ms --net-delay=1500us --record-size=4096 --streams=64 --workers=1 --duration=3000000000ns --warmup=500000000ns

# streams, 5 in flight, acks=1, 1
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --record-size=4096 --streams=1 --workers=1 --duration=3000000000ns --warmup=500000000ns

# streams, 5 in flight, acks=1, 3
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --record-size=4096 --streams=3 --workers=1 --duration=3000000000ns --warmup=500000000ns

# streams, 5 in flight, acks=1, 9
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --record-size=4096 --streams=9 --workers=1 --duration=3000000000ns --warmup=500000000ns

# streams, 5 in flight, acks=1, 27
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --record-size=4096 --streams=27 --workers=1 --duration=3000000000ns --warmup=500000000ns

# streams, 5 in flight, acks=1, 64
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --record-size=4096 --streams=64 --workers=1 --duration=3000000000ns --warmup=500000000ns

# streams, 5 in flight, acks=all, 1
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --record-size=4096 --streams=1 --workers=1 --duration=3000000000ns --warmup=500000000ns

# streams, 5 in flight, acks=all, 3
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --record-size=4096 --streams=3 --workers=1 --duration=3000000000ns --warmup=500000000ns

# streams, 5 in flight, acks=all, 9
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --record-size=4096 --streams=9 --workers=1 --duration=3000000000ns --warmup=500000000ns

# streams, 5 in flight, acks=all, 27
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --record-size=4096 --streams=27 --workers=1 --duration=3000000000ns --warmup=500000000ns

# streams, 5 in flight, acks=all, 64
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --record-size=4096 --streams=64 --workers=1 --duration=3000000000ns --warmup=500000000ns

# streams-matched, acks=1, 1
# rate: 70 % of what 5 in flight, acks=1 at 1 (streams) carried: 1,338 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --rate=1338 --record-size=4096 --streams=1 --workers=1 --duration=2000000000ns --warmup=500000000ns

# streams-matched, acks=1, 3
# rate: 70 % of what 5 in flight, acks=1 at 3 (streams) carried: 2,022 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --rate=2022 --record-size=4096 --streams=3 --workers=1 --duration=2000000000ns --warmup=500000000ns

# streams-matched, acks=1, 9
# rate: 70 % of what 5 in flight, acks=1 at 9 (streams) carried: 2,428 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --rate=2428 --record-size=4096 --streams=9 --workers=1 --duration=2000000000ns --warmup=500000000ns

# streams-matched, acks=1, 27
# rate: 70 % of what 5 in flight, acks=1 at 27 (streams) carried: 2,596 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --rate=2596 --record-size=4096 --streams=27 --workers=1 --duration=2000000000ns --warmup=500000000ns

# streams-matched, acks=1, 64
# rate: 70 % of what 5 in flight, acks=1 at 64 (streams) carried: 2,688 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --arrivals=poisson --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --rate=2688 --record-size=4096 --streams=64 --workers=1 --duration=2000000000ns --warmup=500000000ns

# streams-matched, acks=all, 1
# rate: 70 % of what 5 in flight, acks=1 at 1 (streams) carried: 1,338 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --rate=1338 --record-size=4096 --streams=1 --workers=1 --duration=2000000000ns --warmup=500000000ns

# streams-matched, acks=all, 3
# rate: 70 % of what 5 in flight, acks=1 at 3 (streams) carried: 2,022 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --rate=2022 --record-size=4096 --streams=3 --workers=1 --duration=2000000000ns --warmup=500000000ns

# streams-matched, acks=all, 9
# rate: 70 % of what 5 in flight, acks=1 at 9 (streams) carried: 2,428 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --rate=2428 --record-size=4096 --streams=9 --workers=1 --duration=2000000000ns --warmup=500000000ns

# streams-matched, acks=all, 27
# rate: 70 % of what 5 in flight, acks=1 at 27 (streams) carried: 2,596 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --rate=2596 --record-size=4096 --streams=27 --workers=1 --duration=2000000000ns --warmup=500000000ns

# streams-matched, acks=all, 64
# rate: 70 % of what 5 in flight, acks=1 at 64 (streams) carried: 2,688 records/s
# echo-server --listen 127.0.0.1:9871 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --listen 127.0.0.1:9872 --handler-cost=paced:600us --handlers=4 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms+64us/KiB --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --arrivals=poisson --clients=1 --in-flight=5 --interval=200ms --net-delay=1500us --rate=2688 --record-size=4096 --streams=64 --workers=1 --duration=2000000000ns --warmup=500000000ns

# pause, acks=1, 2
# echo-server --listen 127.0.0.1:9871 --handlers=2 --pin=none
# echo-server --listen 127.0.0.1:9872 --handlers=2 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms --handlers=4 --pin=none
# echo-client --clients=4 --in-flight=2 --interval=50ms --workers=1 --duration=2000000000ns --warmup=300000000ns
# 600ms into the measured part: kill -STOP follower 2, and kill -CONT it 800ms later

# pause, acks=all, held by all three, 2
# echo-server --listen 127.0.0.1:9871 --handlers=2 --pin=none
# echo-server --listen 127.0.0.1:9872 --handlers=2 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms --handlers=4 --min-insync=3 --pin=none
# echo-client --acks=all --clients=4 --in-flight=2 --interval=50ms --workers=1 --duration=2000000000ns --warmup=300000000ns
# 600ms into the measured part: kill -STOP follower 2, and kill -CONT it 800ms later

# pause, acks=all, held by two, 2
# echo-server --listen 127.0.0.1:9871 --handlers=2 --pin=none
# echo-server --listen 127.0.0.1:9872 --handlers=2 --pin=none
# echo-server --followers=127.0.0.1:9871,127.0.0.1:9872 --calls-per-connection=1 --handler-cost=paced:1ms --handlers=4 --min-insync=2 --pin=none
# echo-client --acks=all --clients=4 --in-flight=2 --interval=50ms --workers=1 --duration=2000000000ns --warmup=300000000ns
# 600ms into the measured part: kill -STOP follower 2, and kill -CONT it 800ms later
