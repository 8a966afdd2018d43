// Hive's standalone metastore over an embedded Derby database, on one port of 127.0.0.1. Tests create tables on a second port: as an
// engine leaves them in the database, but without the folders, which would need the file system of every location.
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.metastore.HMSHandler;
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.metastore.RawStore;
import org.apache.hadoop.hive.metastore.api.Database;
import org.apache.hadoop.hive.metastore.api.FieldSchema;
import org.apache.hadoop.hive.metastore.api.Partition;
import org.apache.hadoop.hive.metastore.api.SerDeInfo;
import org.apache.hadoop.hive.metastore.api.StorageDescriptor;
import org.apache.hadoop.hive.metastore.api.Table;
import org.apache.hadoop.hive.metastore.conf.MetastoreConf;
import org.apache.hadoop.hive.metastore.conf.MetastoreConf.ConfVars;
import org.apache.hadoop.hive.metastore.security.HadoopThriftAuthBridge;

public final class HiveServer {
  private final Configuration conf;

  private HiveServer(Configuration conf) {
    this.conf = conf;
  }

  // Folder, port of the metastore, port of the tests. System properties such as metastore.authentication are settings of the metastore.
  public static void main(String[] args) throws Exception {
    Path folder = Path.of(args[0]).toAbsolutePath();
    int port = Integer.parseInt(args[1]);
    Files.createDirectories(folder);
    Configuration conf = MetastoreConf.newMetastoreConf();
    String database = folder.resolve("derby").toString();
    MetastoreConf.setVar(conf, ConfVars.CONNECT_URL_KEY, "jdbc:derby:;databaseName=" + database + ";create=true");
    MetastoreConf.setVar(conf, ConfVars.CONNECTION_DRIVER, "org.apache.derby.jdbc.EmbeddedDriver");
    MetastoreConf.setBoolVar(conf, ConfVars.AUTO_CREATE_ALL, true);
    MetastoreConf.setBoolVar(conf, ConfVars.SCHEMA_VERIFICATION, false);
    MetastoreConf.setVar(conf, ConfVars.THRIFT_BIND_HOST, "127.0.0.1");
    MetastoreConf.setVar(conf, ConfVars.WAREHOUSE, folder.resolve("warehouse").toString());
    Thread metastore = new Thread(() -> serve(port, conf));
    metastore.start();
    while (!accepts(port)) Thread.sleep(50);
    new HiveServer(conf).listen(Integer.parseInt(args[2]));
    metastore.join();
  }

  private static void serve(int port, Configuration conf) {
    try {
      HiveMetaStore.startMetaStore(port, HadoopThriftAuthBridge.getBridge(), conf);
    } catch (Throwable error) {
      error.printStackTrace();
    }
    System.exit(1);
  }

  private static boolean accepts(int port) {
    try (Socket socket = new Socket("127.0.0.1", port)) {
      return socket.isConnected();
    } catch (IOException error) {
      return false;
    }
  }

  private void listen(int port) throws IOException {
    HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
    server.createContext("/", this::handle);
    server.start();
  }

  private void handle(HttpExchange exchange) throws IOException {
    int status = 200;
    byte[] answer = {};
    try {
      run(exchange.getRequestURI().getPath(), parametersOf(exchange));
    } catch (Throwable error) {
      status = 500;
      answer = error.toString().getBytes(StandardCharsets.UTF_8);
    }
    exchange.sendResponseHeaders(status, answer.length == 0 ? -1 : answer.length);
    exchange.getResponseBody().write(answer);
    exchange.close();
  }

  private void run(String path, Map<String, String> given) throws Exception {
    RawStore store = HMSHandler.getMSForConf(conf);
    String catalog = "hive";
    String database = given.get("database");
    String name = given.get("table");
    switch (path) {
      case "/database" -> {
        Database created = new Database(database, "", "file:/unused", Map.of());
        created.setCatalogName(catalog);
        store.createDatabase(created);
      }
      case "/table" -> store.createTable(table(catalog, database, name, given));
      case "/move" -> {
        Table moved = store.getTable(catalog, database, name);
        moved.getSd().setLocation(given.get("location"));
        store.alterTable(catalog, database, name, moved, null);
      }
      case "/partition" -> {
        List<String> values = List.of(given.get("value"));
        Partition added = new Partition(values, database, name, 0, 0, storage(given.get("location")), properties(given));
        added.setCatName(catalog);
        store.addPartition(added);
      }
      case "/drop" -> store.dropTable(catalog, database, name);
      default -> throw new IllegalArgumentException(path);
    }
  }

  private static Table table(String catalog, String database, String name, Map<String, String> given) {
    List<FieldSchema> keys = new ArrayList<>();
    if (given.containsKey("partitionKey")) keys.add(new FieldSchema(given.get("partitionKey"), "string", ""));
    String type = given.getOrDefault("type", "EXTERNAL_TABLE");
    StorageDescriptor sd = storage(given.get("location"));
    Table table = new Table(name, database, "owner", 0, 0, 0, sd, keys, properties(given), null, null, type);
    table.setCatName(catalog);
    return table;
  }

  private static StorageDescriptor storage(String location) {
    List<FieldSchema> columns = List.of(new FieldSchema("id", "bigint", ""));
    SerDeInfo serde = new SerDeInfo("", "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe", Map.of());
    String format = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat";
    return new StorageDescriptor(columns, location, format, format, false, 0, serde, List.of(), List.of(), Map.of());
  }

  // Every parameter with the prefix "p.".
  private static Map<String, String> properties(Map<String, String> given) {
    Map<String, String> properties = new HashMap<>();
    given.forEach((key, value) -> {
      if (key.startsWith("p.")) properties.put(key.substring(2), value);
    });
    return properties;
  }

  private static Map<String, String> parametersOf(HttpExchange exchange) {
    Map<String, String> parameters = new HashMap<>();
    String query = exchange.getRequestURI().getRawQuery();
    for (String pair : query == null ? new String[0] : query.split("&")) {
      String[] parts = pair.split("=", 2);
      parameters.put(decode(parts[0]), decode(parts[1]));
    }
    return parameters;
  }

  private static String decode(String text) {
    return URLDecoder.decode(text, StandardCharsets.UTF_8);
  }
}
