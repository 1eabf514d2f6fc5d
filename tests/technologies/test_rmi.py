"""The RMI server against a peer that sends other objects than requests."""

import json
import shutil
import subprocess
from pathlib import Path

from tests.patience import PATIENCE_S
from tests.require import require
from tests.technologies.builds import ROOT

ADAPTERS = ROOT / "agents" / "adapters"
EXPORTS = ("--add-exports", "java.rmi/sun.rmi.server=ALL-UNNAMED")
#: A call of the adapter's method with the object that is named.
PEER = """
import java.lang.reflect.Method;
import java.rmi.registry.LocateRegistry;
import java.rmi.server.RemoteObject;
import java.rmi.server.RemoteObjectInvocationHandler;

public final class Peer {
    public static void main(String[] ports) throws Exception {
        Object stub = LocateRegistry.getRegistry("127.0.0.1", Integer.parseInt(ports[0])).lookup("pathlab");
        Method method = Rmi.Echo.class.getMethod("ask", byte[].class);
        long hash = sun.rmi.server.Util.computeMethodHash(method);
        RemoteObject handler = (RemoteObject) java.lang.reflect.Proxy.getInvocationHandler(stub);
        for (Object sent : new Object[] {new byte[4], new java.util.HashMap<>(), new byte[0][0]}) {
            try {
                Object[] words = {sent};
                Object reply = handler.getRef().invoke((java.rmi.Remote) stub, method, words, hash);
                System.out.println(((byte[]) reply).length);
            } catch (Exception refusal) {
                Throwable cause = refusal;
                while (cause.getCause() != null) {
                    cause = cause.getCause();
                }
                System.out.println(cause.getMessage());
            }
        }
    }
}
"""


def test_a_server_reads_nothing_but_arrays_of_bytes(tmp_path: Path) -> None:
    """A serialized object runs code of its class when it is read."""
    require(shutil.which("javac"), "javac (apt-get install default-jdk-headless)")
    peer = tmp_path / "Peer.java"
    peer.write_text(PEER, encoding="ascii")
    sources = [ADAPTERS / "Rmi.java", *(ADAPTERS / "harness").glob("*.java"), peer]
    quick = "-J-XX:TieredStopAtLevel=1"  # it compiles little, and ends before it is optimized
    subprocess.run(["javac", quick, "-nowarn", *EXPORTS, "-d", str(tmp_path), *map(str, sources)], check=True)
    words = ["java", "-cp", str(tmp_path), "Rmi", "answer", json.dumps({"address": "127.0.0.1", "port": 0})]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        records = map(json.loads, server.stdout)
        port = next(record["port"] for record in records if record["type"] == "listening")
        asking = ["java", *EXPORTS, "-cp", str(tmp_path), "Peer", str(port)]
        done = subprocess.run(asking, capture_output=True, text=True, timeout=2 * PATIENCE_S, check=False)
        server.communicate("stop\n", timeout=2 * PATIENCE_S)
    rejected = "filter status: REJECTED"
    assert done.stdout.splitlines() == ["4", rejected, rejected], done.stderr
