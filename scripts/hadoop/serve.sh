#!/bin/sh
# Runs Hadoop's own RPC server with the lab's echo, EchoServer.java, which it compiles if need be.
#
# usage: HADOOP_JARS=FOLDER scripts/hadoop/serve.sh [--listen HOST:PORT] [--readers N] [--handlers N]
#
# FOLDER holds Hadoop's client jars (hadoop-client-api, hadoop-client-runtime) and those of slf4j
# and log4j. JAVA_OPTS has further options of the JVM. Needs a JDK, 17 or later.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
say() {
    echo "hadoop-server: $*" >&2
    exit 2
}
[ -n "${HADOOP_JARS:-}" ] || say "HADOOP_JARS is not set; allowed: a folder with Hadoop's client jars"
jars=$(find "$HADOOP_JARS" -maxdepth 1 -name 'hadoop-client-*.jar' 2>/dev/null | head -n 1)
[ -n "$jars" ] || say "HADOOP_JARS=$HADOOP_JARS has no hadoop-client-*.jar; allowed: a folder that has"
for tool in java javac; do
    command -v "$tool" >/dev/null || say "$tool is not installed; allowed: a JDK, 17 or later"
done
classes=$here/../../target/hadoop
if [ -z "$(find "$classes/EchoServer.class" -newer "$here/EchoServer.java" 2>/dev/null)" ]; then
    mkdir -p "$classes"
    javac -nowarn -d "$classes" -cp "$HADOOP_JARS/*" "$here/EchoServer.java" >&2
fi
# shellcheck disable=SC2086
exec java ${JAVA_OPTS:-} -cp "$classes:$HADOOP_JARS/*" EchoServer "$@"
