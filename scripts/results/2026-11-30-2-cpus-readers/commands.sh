#!/bin/sh
# How to repeat each point by hand, in two terminals: the server, then the client.

# real, 10 clients, 100 callers, 1
# echo-server --readers=1
# echo-client --clients=10 --interval=200ms --stages=100 --threads=100 --duration=3000000000ns --warmup=500000000ns

# real, 10 clients, 100 callers, 2
# echo-server --readers=2
# echo-client --clients=10 --interval=200ms --stages=100 --threads=100 --duration=3000000000ns --warmup=500000000ns

# real, 10 clients, 100 callers, 3
# echo-server --readers=3
# echo-client --clients=10 --interval=200ms --stages=100 --threads=100 --duration=3000000000ns --warmup=500000000ns

# real, 10 clients, 100 callers, 5
# echo-server --readers=5
# echo-client --clients=10 --interval=200ms --stages=100 --threads=100 --duration=3000000000ns --warmup=500000000ns

# real, 10 clients, 100 callers, 10
# echo-server --readers=10
# echo-client --clients=10 --interval=200ms --stages=100 --threads=100 --duration=3000000000ns --warmup=500000000ns

# real, 30 clients, 100 callers, 1
# echo-server --readers=1
# echo-client --clients=30 --interval=200ms --stages=100 --threads=100 --duration=3000000000ns --warmup=500000000ns

# real, 30 clients, 100 callers, 2
# echo-server --readers=2
# echo-client --clients=30 --interval=200ms --stages=100 --threads=100 --duration=3000000000ns --warmup=500000000ns

# real, 30 clients, 100 callers, 3
# echo-server --readers=3
# echo-client --clients=30 --interval=200ms --stages=100 --threads=100 --duration=3000000000ns --warmup=500000000ns

# real, 30 clients, 100 callers, 5
# echo-server --readers=5
# echo-client --clients=30 --interval=200ms --stages=100 --threads=100 --duration=3000000000ns --warmup=500000000ns

# real, 30 clients, 100 callers, 10
# echo-server --readers=10
# echo-client --clients=30 --interval=200ms --stages=100 --threads=100 --duration=3000000000ns --warmup=500000000ns

# real, 10 clients, 400 callers, 1
# echo-server --readers=1
# echo-client --clients=10 --interval=200ms --stages=100 --threads=400 --duration=3000000000ns --warmup=500000000ns

# real, 10 clients, 400 callers, 2
# echo-server --readers=2
# echo-client --clients=10 --interval=200ms --stages=100 --threads=400 --duration=3000000000ns --warmup=500000000ns

# real, 10 clients, 400 callers, 3
# echo-server --readers=3
# echo-client --clients=10 --interval=200ms --stages=100 --threads=400 --duration=3000000000ns --warmup=500000000ns

# real, 10 clients, 400 callers, 5
# echo-server --readers=5
# echo-client --clients=10 --interval=200ms --stages=100 --threads=400 --duration=3000000000ns --warmup=500000000ns

# real, 10 clients, 400 callers, 10
# echo-server --readers=10
# echo-client --clients=10 --interval=200ms --stages=100 --threads=400 --duration=3000000000ns --warmup=500000000ns

# real, 30 clients, 400 callers, 1
# echo-server --readers=1
# echo-client --clients=30 --interval=200ms --stages=100 --threads=400 --duration=3000000000ns --warmup=500000000ns

# real, 30 clients, 400 callers, 2
# echo-server --readers=2
# echo-client --clients=30 --interval=200ms --stages=100 --threads=400 --duration=3000000000ns --warmup=500000000ns

# real, 30 clients, 400 callers, 3
# echo-server --readers=3
# echo-client --clients=30 --interval=200ms --stages=100 --threads=400 --duration=3000000000ns --warmup=500000000ns

# real, 30 clients, 400 callers, 5
# echo-server --readers=5
# echo-client --clients=30 --interval=200ms --stages=100 --threads=400 --duration=3000000000ns --warmup=500000000ns

# real, 30 clients, 400 callers, 10
# echo-server --readers=10
# echo-client --clients=30 --interval=200ms --stages=100 --threads=400 --duration=3000000000ns --warmup=500000000ns

# spin, spin, 1
# echo-server --reader-cost=spin:28.4us --readers=1
# echo-client --clients=30 --interval=200ms --stages=100 --threads=100 --duration=3000000000ns --warmup=500000000ns

# spin, spin, 2
# echo-server --reader-cost=spin:28.4us --readers=2
# echo-client --clients=30 --interval=200ms --stages=100 --threads=100 --duration=3000000000ns --warmup=500000000ns

# spin, spin, 3
# echo-server --reader-cost=spin:28.4us --readers=3
# echo-client --clients=30 --interval=200ms --stages=100 --threads=100 --duration=3000000000ns --warmup=500000000ns

# spin, spin, 5
# echo-server --reader-cost=spin:28.4us --readers=5
# echo-client --clients=30 --interval=200ms --stages=100 --threads=100 --duration=3000000000ns --warmup=500000000ns

# spin, spin, 10
# echo-server --reader-cost=spin:28.4us --readers=10
# echo-client --clients=30 --interval=200ms --stages=100 --threads=100 --duration=3000000000ns --warmup=500000000ns

# paced, 10 clients, 100 callers, 1
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=1
# echo-client --callers=turns --clients=10 --interval=200ms --stages=100 --think=5ms --threads=100 --duration=2000000000ns --warmup=500000000ns

# paced, 10 clients, 100 callers, 2
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=2
# echo-client --callers=turns --clients=10 --interval=200ms --stages=100 --think=5ms --threads=100 --duration=2000000000ns --warmup=500000000ns

# paced, 10 clients, 100 callers, 3
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=3
# echo-client --callers=turns --clients=10 --interval=200ms --stages=100 --think=5ms --threads=100 --duration=2000000000ns --warmup=500000000ns

# paced, 10 clients, 100 callers, 4
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=4
# echo-client --callers=turns --clients=10 --interval=200ms --stages=100 --think=5ms --threads=100 --duration=2000000000ns --warmup=500000000ns

# paced, 10 clients, 100 callers, 5
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=5
# echo-client --callers=turns --clients=10 --interval=200ms --stages=100 --think=5ms --threads=100 --duration=2000000000ns --warmup=500000000ns

# paced, 10 clients, 100 callers, 6
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=6
# echo-client --callers=turns --clients=10 --interval=200ms --stages=100 --think=5ms --threads=100 --duration=2000000000ns --warmup=500000000ns

# paced, 10 clients, 100 callers, 7
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=7
# echo-client --callers=turns --clients=10 --interval=200ms --stages=100 --think=5ms --threads=100 --duration=2000000000ns --warmup=500000000ns

# paced, 10 clients, 100 callers, 8
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=8
# echo-client --callers=turns --clients=10 --interval=200ms --stages=100 --think=5ms --threads=100 --duration=2000000000ns --warmup=500000000ns

# paced, 10 clients, 100 callers, 9
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=9
# echo-client --callers=turns --clients=10 --interval=200ms --stages=100 --think=5ms --threads=100 --duration=2000000000ns --warmup=500000000ns

# paced, 10 clients, 100 callers, 10
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=10
# echo-client --callers=turns --clients=10 --interval=200ms --stages=100 --think=5ms --threads=100 --duration=2000000000ns --warmup=500000000ns

# paced, 30 clients, 100 callers, 1
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=1
# echo-client --callers=turns --clients=30 --interval=200ms --stages=100 --think=5ms --threads=100 --duration=2000000000ns --warmup=500000000ns

# paced, 30 clients, 100 callers, 2
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=2
# echo-client --callers=turns --clients=30 --interval=200ms --stages=100 --think=5ms --threads=100 --duration=2000000000ns --warmup=500000000ns

# paced, 30 clients, 100 callers, 3
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=3
# echo-client --callers=turns --clients=30 --interval=200ms --stages=100 --think=5ms --threads=100 --duration=2000000000ns --warmup=500000000ns

# paced, 30 clients, 100 callers, 4
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=4
# echo-client --callers=turns --clients=30 --interval=200ms --stages=100 --think=5ms --threads=100 --duration=2000000000ns --warmup=500000000ns

# paced, 30 clients, 100 callers, 5
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=5
# echo-client --callers=turns --clients=30 --interval=200ms --stages=100 --think=5ms --threads=100 --duration=2000000000ns --warmup=500000000ns

# paced, 30 clients, 100 callers, 6
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=6
# echo-client --callers=turns --clients=30 --interval=200ms --stages=100 --think=5ms --threads=100 --duration=2000000000ns --warmup=500000000ns

# paced, 30 clients, 100 callers, 7
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=7
# echo-client --callers=turns --clients=30 --interval=200ms --stages=100 --think=5ms --threads=100 --duration=2000000000ns --warmup=500000000ns

# paced, 30 clients, 100 callers, 8
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=8
# echo-client --callers=turns --clients=30 --interval=200ms --stages=100 --think=5ms --threads=100 --duration=2000000000ns --warmup=500000000ns

# paced, 30 clients, 100 callers, 9
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=9
# echo-client --callers=turns --clients=30 --interval=200ms --stages=100 --think=5ms --threads=100 --duration=2000000000ns --warmup=500000000ns

# paced, 30 clients, 100 callers, 10
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=10
# echo-client --callers=turns --clients=30 --interval=200ms --stages=100 --think=5ms --threads=100 --duration=2000000000ns --warmup=500000000ns

# paced, 10 clients, 400 callers, 1
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=1
# echo-client --callers=turns --clients=10 --interval=200ms --stages=100 --think=5ms --threads=400 --duration=2000000000ns --warmup=500000000ns

# paced, 10 clients, 400 callers, 2
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=2
# echo-client --callers=turns --clients=10 --interval=200ms --stages=100 --think=5ms --threads=400 --duration=2000000000ns --warmup=500000000ns

# paced, 10 clients, 400 callers, 3
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=3
# echo-client --callers=turns --clients=10 --interval=200ms --stages=100 --think=5ms --threads=400 --duration=2000000000ns --warmup=500000000ns

# paced, 10 clients, 400 callers, 5
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=5
# echo-client --callers=turns --clients=10 --interval=200ms --stages=100 --think=5ms --threads=400 --duration=2000000000ns --warmup=500000000ns

# paced, 10 clients, 400 callers, 6
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=6
# echo-client --callers=turns --clients=10 --interval=200ms --stages=100 --think=5ms --threads=400 --duration=2000000000ns --warmup=500000000ns

# paced, 10 clients, 400 callers, 7
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=7
# echo-client --callers=turns --clients=10 --interval=200ms --stages=100 --think=5ms --threads=400 --duration=2000000000ns --warmup=500000000ns

# paced, 10 clients, 400 callers, 9
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=9
# echo-client --callers=turns --clients=10 --interval=200ms --stages=100 --think=5ms --threads=400 --duration=2000000000ns --warmup=500000000ns

# paced, 10 clients, 400 callers, 10
# echo-server --handlers=10 --pin=none --reader-cost=paced:200us --readers=10
# echo-client --callers=turns --clients=10 --interval=200ms --stages=100 --think=5ms --threads=400 --duration=2000000000ns --warmup=500000000ns

# paced, 10 clients, 100 callers, least-connections, 1
# echo-server --assign=least-connections --handlers=10 --pin=none --reader-cost=paced:200us --readers=1
# echo-client --callers=turns --clients=10 --interval=200ms --stages=100 --think=5ms --threads=100 --duration=2000000000ns --warmup=500000000ns

# paced, 10 clients, 100 callers, least-connections, 3
# echo-server --assign=least-connections --handlers=10 --pin=none --reader-cost=paced:200us --readers=3
# echo-client --callers=turns --clients=10 --interval=200ms --stages=100 --think=5ms --threads=100 --duration=2000000000ns --warmup=500000000ns

# paced, 10 clients, 100 callers, least-connections, 5
# echo-server --assign=least-connections --handlers=10 --pin=none --reader-cost=paced:200us --readers=5
# echo-client --callers=turns --clients=10 --interval=200ms --stages=100 --think=5ms --threads=100 --duration=2000000000ns --warmup=500000000ns

# paced, 10 clients, 100 callers, least-connections, 10
# echo-server --assign=least-connections --handlers=10 --pin=none --reader-cost=paced:200us --readers=10
# echo-client --callers=turns --clients=10 --interval=200ms --stages=100 --think=5ms --threads=100 --duration=2000000000ns --warmup=500000000ns
