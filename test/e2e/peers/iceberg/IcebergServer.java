// Apache Iceberg's REST catalog test server (its servlet and its adapter, as they are) over a JDBC catalog in an SQLite
// file, on one port of 127.0.0.1. Iceberg's own main class listens on every interface.
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

public final class IcebergServer {
  private IcebergServer() {}

  public static void main(String[] args) throws Exception {
    Path folder = Path.of(args[0]).toAbsolutePath();
    int port = Integer.parseInt(args[1]);
    Files.createDirectories(folder);

    JdbcCatalog catalog = new JdbcCatalog();
    catalog.initialize(
        "lodestone",
        Map.of(
            "uri", "jdbc:sqlite:" + folder.resolve("catalog.db"),
            "jdbc.schema-version", "V1",
            "warehouse", args[2],
            "io-impl", FolderFileIO.class.getName(),
            FolderFileIO.FOLDER, folder.resolve("warehouse").toString()));

    ServletContextHandler context = new ServletContextHandler(ServletContextHandler.NO_SESSIONS);
    context.addServlet(new ServletHolder(new RESTCatalogServlet(new RESTCatalogAdapter(catalog))), "/*");
    Server server = new Server();
    ServerConnector connector = new ServerConnector(server);
    connector.setHost("127.0.0.1");
    connector.setPort(port);
    server.addConnector(connector);
    server.setHandler(context);
    server.start();
    server.join();
  }
}
