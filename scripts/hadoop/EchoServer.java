import java.io.PrintStream;
import java.util.concurrent.atomic.LongAdder;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.ipc.ProtobufRpcEngine2;
import org.apache.hadoop.ipc.ProtocolInfo;
import org.apache.hadoop.ipc.RPC;
import org.apache.hadoop.thirdparty.protobuf.BlockingService;
import org.apache.hadoop.thirdparty.protobuf.BytesValue;
import org.apache.hadoop.thirdparty.protobuf.DescriptorProtos.FileDescriptorProto;
import org.apache.hadoop.thirdparty.protobuf.Descriptors.FileDescriptor;
import org.apache.hadoop.thirdparty.protobuf.Descriptors.MethodDescriptor;
import org.apache.hadoop.thirdparty.protobuf.Descriptors.ServiceDescriptor;
import org.apache.hadoop.thirdparty.protobuf.Message;
import org.apache.hadoop.thirdparty.protobuf.RpcController;
import org.apache.hadoop.thirdparty.protobuf.ServiceException;
import org.apache.hadoop.thirdparty.protobuf.TextFormat;
import org.apache.hadoop.thirdparty.protobuf.WrappersProto;
import org.apache.hadoop.util.VersionInfo;

/**
 * Hadoop's own RPC server with one protocol, lab.Echo version 1: method echo returns its bytes.
 *
 * <p>It behaves to the lab as echo-server does: says "listening on ADDRESS" first, ends on SIGTERM
 * with 0, and says last how many calls it counted. Options: --listen HOST:PORT, --readers N,
 * --handlers N, with a blank or "="; --version prints Hadoop's version.
 */
public final class EchoServer {
  private static final LongAdder CALLS = new LongAdder();

  private EchoServer() {}

  /** What ProtobufRpcEngine2 registers the service under. */
  @ProtocolInfo(protocolName = "lab.Echo", protocolVersion = 1)
  public interface Echo {
    /** Returns what it is given. */
    BytesValue echo(RpcController controller, BytesValue call) throws ServiceException;
  }

  /** The service. Its descriptor is written out here, so that no protobuf compiler is needed. */
  private static final class Service implements BlockingService {
    private final ServiceDescriptor descriptor;

    Service() throws Exception {
      String text =
          "name: 'lab.proto' package: 'lab' dependency: 'google/protobuf/wrappers.proto'"
              + " service { name: 'Echo' method { name: 'echo'"
              + " input_type: '.google.protobuf.BytesValue'"
              + " output_type: '.google.protobuf.BytesValue' } }";
      FileDescriptorProto file = TextFormat.parse(text, FileDescriptorProto.class);
      FileDescriptor[] needs = {WrappersProto.getDescriptor()};
      descriptor = FileDescriptor.buildFrom(file, needs).findServiceByName("Echo");
    }

    @Override
    public ServiceDescriptor getDescriptorForType() {
      return descriptor;
    }

    @Override
    public Message callBlockingMethod(MethodDescriptor method, RpcController c, Message call) {
      CALLS.increment();
      return call;
    }

    @Override
    public Message getRequestPrototype(MethodDescriptor method) {
      return BytesValue.getDefaultInstance();
    }

    @Override
    public Message getResponsePrototype(MethodDescriptor method) {
      return BytesValue.getDefaultInstance();
    }
  }

  public static void main(String[] words) throws Exception {
    // What Hadoop logs goes to standard error: standard output is for the address.
    PrintStream out = System.out;
    System.setOut(System.err);
    String host = "127.0.0.1";
    int port = 0;
    int readers = 1;
    int handlers = 10;
    for (int i = 0; i < words.length; i++) {
      int equals = words[i].indexOf('=');
      String option = equals < 0 ? words[i] : words[i].substring(0, equals);
      if (option.equals("--version")) {
        out.println("Hadoop " + VersionInfo.getVersion());
        return;
      }
      String value = "";
      if (equals >= 0) {
        value = words[i].substring(equals + 1);
      } else if (i + 1 < words.length) {
        value = words[++i];
      }
      switch (option) {
        case "--listen":
          int colon = value.lastIndexOf(':');
          if (colon < 0) {
            refuse(option + " " + value + "; allowed: HOST:PORT");
          }
          host = value.substring(0, colon);
          port = number(option, value.substring(colon + 1), 0, 65535);
          break;
        case "--readers":
          readers = number(option, value, 1, 1024);
          break;
        case "--handlers":
          handlers = number(option, value, 1, 4096);
          break;
        default:
          refuse(option + "; allowed: --listen, --readers, --handlers, --version");
      }
    }
    serve(out, host, port, readers, handlers);
  }

  private static void serve(PrintStream out, String host, int port, int readers, int handlers)
      throws Exception {
    Configuration conf = new Configuration();
    RPC.setProtocolEngine(conf, Echo.class, ProtobufRpcEngine2.class);
    RPC.Server server =
        new RPC.Builder(conf)
            .setProtocol(Echo.class)
            .setInstance(new Service())
            .setBindAddress(host)
            .setPort(port)
            .setNumHandlers(handlers)
            .setnumReaders(readers)
            .build();
    Thread last =
        new Thread(
            () -> {
              server.stop();
              System.err.println("counters: calls=" + CALLS.sum());
              System.err.flush();
              // A signal that was obeyed is no failure.
              Runtime.getRuntime().halt(0);
            });
    Runtime.getRuntime().addShutdownHook(last);
    server.start();
    out.println("listening on " + host + ":" + server.getListenerAddress().getPort());
    out.flush();
    server.join();
  }

  private static int number(String option, String text, int least, int most) {
    try {
      int number = Integer.parseInt(text);
      if (number >= least && number <= most) {
        return number;
      }
    } catch (NumberFormatException error) {
      // Refused below, as a number that is too small or too large.
    }
    refuse(option + " " + text + "; allowed: " + least + " to " + most);
    return 0;
  }

  private static void refuse(String wrong) {
    System.err.println("hadoop-server: " + wrong);
    Runtime.getRuntime().halt(2);
  }
}
