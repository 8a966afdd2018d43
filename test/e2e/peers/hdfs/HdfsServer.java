// An HDFS of one data node and one or two name nodes (the first is active) on 127.0.0.1: Hadoop's own MiniDFSCluster in
// this process. Arguments: the folder for its data, the control port, the WebHDFS port of each name node. Started
// again with the same folder it has the same files. The control port opens when all is ready.
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.MiniDFSNNTopology;

public final class HdfsServer {
  private final MiniDFSCluster cluster;
  private final int nameNodes;
  private int active = 0;

  private HdfsServer(MiniDFSCluster cluster, int nameNodes) {
    this.cluster = cluster;
    this.nameNodes = nameNodes;
  }

  public static void main(String[] args) throws Exception {
    Path data = Path.of(args[0], "data").toAbsolutePath();
    int controlPort = Integer.parseInt(args[1]);
    int[] ports = Arrays.stream(args).skip(2).mapToInt(Integer::parseInt).toArray();
    MiniDFSCluster cluster =
        new MiniDFSCluster.Builder(configuration(data, ports.length > 1), data.toFile())
            .numDataNodes(1)
            .nnTopology(topology(ports))
            .format(!Files.exists(data))
            // Managed, it would be emptied at each start, and with it what the name nodes have in common.
            .manageNameDfsSharedDirs(false)
            .build();
    HdfsServer server = new HdfsServer(cluster, ports.length);
    if (ports.length > 1) cluster.transitionToActive(0);
    server.untilWritable();
    server.listen(controlPort);
    System.out.printf("{\"ready\":true,\"control\":%d,\"webhdfs\":%s}%n", controlPort, Arrays.toString(ports));
  }

  private static Configuration configuration(Path data, boolean shared) {
    Configuration configuration = new HdfsConfiguration();
    if (shared) configuration.set("dfs.namenode.shared.edits.dir", data.resolve("shared-edits").toUri().toString());
    configuration.setInt("dfs.replication", 1);
    configuration.setInt("dfs.namenode.safemode.extension", 0);
    configuration.setBoolean("dfs.permissions.enabled", false);
    return configuration;
  }

  private static MiniDFSNNTopology topology(int[] ports) {
    boolean alone = ports.length == 1;
    MiniDFSNNTopology.NSConf nameservice = new MiniDFSNNTopology.NSConf(alone ? null : "lodestone");
    for (int index = 0; index < ports.length; index++) {
      String id = alone ? null : "nn" + (index + 1);
      nameservice.addNN(new MiniDFSNNTopology.NNConf(id).setHttpPort(ports[index]));
    }
    return new MiniDFSNNTopology().addNameservice(nameservice);
  }

  private void listen(int port) throws IOException {
    HttpServer control = HttpServer.create(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), port), 0);
    control.createContext("/active", exchange -> answer(exchange, 200, String.valueOf(active)));
    control.createContext("/failover", this::failOver);
    control.start();
  }

  // The way an administrator does it by hand: first the active one steps back, then the next one steps up.
  private void failOver(HttpExchange exchange) throws IOException {
    try {
      if (nameNodes == 1) throw new IllegalStateException("there is only one name node");
      int next = (active + 1) % nameNodes;
      cluster.transitionToStandby(active);
      cluster.transitionToActive(next);
      active = next;
      untilWritable();
      answer(exchange, 200, String.valueOf(active));
    } catch (Exception error) {
      answer(exchange, 500, String.valueOf(error));
    }
  }

  // After a restart a name node is in safe mode until the data node has told it of its blocks.
  private void untilWritable() throws IOException, InterruptedException {
    cluster.waitActive(active);
    while (cluster.getNameNode(active).isInSafeMode()) Thread.sleep(50);
  }

  private static void answer(HttpExchange exchange, int status, String body) throws IOException {
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(status, bytes.length);
    exchange.getResponseBody().write(bytes);
    exchange.close();
  }
}
